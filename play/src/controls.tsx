// What is fitted: data, machine, kernel and solver. A lesson may hide some of it.

import { useRef, useState } from "preact/hooks";
import { colourOf, marker } from "./colours";
import type { Store } from "./store";
import { ANY_MACHINE, DATA_SETS, isRegression, KERNELS, MODELS, SOLVERS, WITHOUT_NOISE, type Named } from "./state";
import { plainly } from "./words";

const WITH_GAMMA = ["poly", "rbf", "sigmoid", "laplacian"];
const WITH_C = ["svc", "svr", "nusvr"];
const WITH_NU = ["nusvc", "nusvr", "one_class"];
const CLASSES = 3; // that a click can add; a CSV may hold six

type Hold = { store: Store };

export function Controls({ store }: Hold) {
  const { data, model, solver, hide } = store.state.value;
  const shows = (part: string) => !hide.includes(part);
  const named = data as Named;
  const solvers = Object.entries(SOLVERS).filter(([name]) => model.name === "svc" || ANY_MACHINE.includes(name));
  const setData = (part: Partial<Named>) => store.change({ data: { ...named, ...part } });
  return (
    <div class="mm-controls">
      {shows("data") && (
        <fieldset>
          <legend>Points</legend>
          {shows("data_name") && <Choice label="Data set" value={data.name} options={{ ...DATA_SETS, ...(data.name === "points" ? { points: "Your own" } : {}) }} onPick={(name) => name !== "points" && store.change({ data: startOf(named, name) })} />}
          {data.name !== "points" && (
            <>
              {shows("number") && <Range label="Number" value={named.n} low={4} high={store.state.value.solver === "smo" ? 1000 : 200} step={1} onPick={(n) => setData({ n })} />}
              {shows("noise") && !WITHOUT_NOISE.includes(data.name) && <Range label="Noise" value={named.noise} low={0} high={1} step={0.01} onPick={(noise) => setData({ noise })} />}
            </>
          )}
          <div class="mm-row">
            {data.name !== "points" && <button type="button" onClick={() => setData({ seed: (named.seed + 1) % 10000 })}>Draw again</button>}
            {shows("data_name") && <Csv store={store} />}
          </div>
        </fieldset>
      )}
      <fieldset>
        <legend>Machine</legend>
        {shows("model") && <Choice label="Model" value={model.name} options={MODELS} onPick={(name) => store.setModel({ name })} />}
        {WITH_C.includes(model.name) && shows("C") && <LogRange label="C, the price of slack" value={model.C} low={-3} high={4} onPick={(C) => store.setModel({ C })} />}
        {WITH_NU.includes(model.name) && <Range label="ν, the share of errors" value={model.nu} low={0.02} high={1} step={0.01} onPick={(nu) => store.setModel({ nu })} />}
        {model.name === "svr" && <Range label="ε, half the tube" value={model.epsilon} low={0} high={1} step={0.01} onPick={(epsilon) => store.setModel({ epsilon })} />}
        {shows("kernel") && shows("kernel_name") && <Choice label="Kernel" value={model.kernel} options={KERNELS} onPick={(kernel) => store.setModel({ kernel })} />}
        {WITH_GAMMA.includes(model.kernel) && shows("kernel") && <Gamma store={store} />}
        {model.kernel === "poly" && shows("kernel") && <Range label="Degree" value={model.degree} low={1} high={9} step={1} onPick={(degree) => store.setModel({ degree })} />}
        {["poly", "sigmoid"].includes(model.kernel) && shows("kernel") && <Range label="coef0" value={model.coef0} low={-3} high={3} step={0.1} onPick={(coef0) => store.setModel({ coef0 })} />}
        {shows("solver") && <Choice label="Solver" value={solver} options={Object.fromEntries(solvers)} onPick={(name) => store.change({ solver: name, step: name === "smo" ? -1 : store.state.value.step })} />}
      </fieldset>
    </div>
  );
}

/** Another data set begins with the numbers that show it best. */
function startOf(now: Named, name: string): Named {
  const noise: Record<string, number> = { circles: 0.08, xnor: 0.25, mixture: 0.45, three: 0.6, wave: 0.15 };
  return { name, n: now.n ?? 40, noise: noise[name] ?? 0.15, seed: now.seed ?? 0 };
}

function Choice(props: { label: string; value: string; options: Record<string, string>; onPick: (value: string) => void }) {
  return (
    <label class="mm-field-row">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onPick(event.currentTarget.value)}>
        {Object.entries(props.options).map(([name, words]) => (
          <option key={name} value={name}>{words}</option>
        ))}
      </select>
    </label>
  );
}

function Range(props: { label: string; value: number; low: number; high: number; step: number; onPick: (value: number) => void; shown?: string }) {
  return (
    <label class="mm-field-row">
      <span>{props.label} <output>{props.shown ?? plainly(props.value)}</output></span>
      <input type="range" min={props.low} max={props.high} step={props.step} value={props.value} onInput={(event) => props.onPick(Number(event.currentTarget.value))} />
    </label>
  );
}

/** Over powers of ten, to two digits, so that the number in the code is a short one. */
function LogRange(props: { label: string; value: number; low: number; high: number; onPick: (value: number) => void }) {
  return (
    <Range label={props.label} value={Math.log10(props.value)} low={props.low} high={props.high} step={0.05} shown={plainly(props.value)} onPick={(power) => props.onPick(Number((10 ** power).toPrecision(2)))} />
  );
}

function Gamma({ store }: Hold) {
  const gamma = store.state.value.model.gamma;
  const isScale = gamma === "scale";
  return (
    <>
      <LogRange label={isScale ? "γ = “scale”" : "γ, how near is near"} value={isScale ? (store.settled.value?.header.gamma ?? 1) : gamma} low={-2} high={2.5} onPick={(value) => store.setModel({ gamma: value })} />
      {!isScale && !store.state.value.lesson && <button type="button" class="mm-small" onClick={() => store.setModel({ gamma: "scale" })}>γ = “scale”, from the data</button>}
    </>
  );
}

function Csv({ store }: Hold) {
  const input = useRef<HTMLInputElement>(null);
  const take = async (file: File | undefined) => {
    if (file) await store.takeCsv(await file.text());
    if (input.current) input.current.value = "";
  };
  return (
    <label class="mm-file">
      <span>Your CSV…</span>
      <input ref={input} type="file" accept=".csv,.tsv,text/csv" onChange={(event) => take(event.currentTarget.files?.[0])} />
    </label>
  );
}

/** Which class a click adds. */
export function ClassPicker({ store }: Hold) {
  const dark = store.isDark.value;
  const fit = store.settled.value;
  if (store.options.isRecorded || isRegression(store.state.value) || (fit && !fit.isClassifier)) return null;
  const known = fit?.header.classes.length ?? 0;
  const count = store.state.value.lesson ? known : Math.max(CLASSES, known);
  return (
    <div class="mm-classes" role="group" aria-label="The class that a click adds">
      <span>A click adds</span>
      {Array.from({ length: count }, (_, label) => (
        <button key={label} type="button" aria-pressed={store.newClass.value === label} aria-label={`A click adds class ${label + 1}`} onClick={() => (store.newClass.value = label)}>
          <svg viewBox="-10 -10 20 20" width="20" height="20" aria-hidden="true"><path d={marker(label, 6)} fill={colourOf(label, dark)} /></svg>
        </button>
      ))}
    </div>
  );
}

// The steps, and how to move through them.

export function Transport({ store }: Hold) {
  const fit = store.settled.value;
  const most = fit?.nSteps ?? 0;
  const k = store.k.value;
  const [isHeld, setIsHeld] = useState(false);
  const isPlaying = store.playing.value;
  return (
    <div class="mm-transport" role="group" aria-label="Steps of the solver">
      <button type="button" title="Home" aria-label="To the beginning" disabled={!most || k === 0} onClick={() => store.goTo(0)}><Icon d="M6 5v14M19 5l-10 7 10 7z" /></button>
      <button type="button" title="←" aria-label="One step back" disabled={!most || k === 0} onClick={() => store.goTo(k - 1)}><Icon d="M16 5 7 12l9 7z" /></button>
      <button type="button" class="mm-primary" title="P" aria-label={isPlaying ? "Pause" : "Play"} disabled={!most} onClick={() => (isPlaying ? store.pause() : store.play())}>
        <Icon d={isPlaying ? "M8 5v14M16 5v14" : "M8 5l10 7-10 7z"} />
      </button>
      <button type="button" title="→" aria-label="One step forward" disabled={!most || k === most} onClick={() => store.goTo(k + 1)}><Icon d="M8 5l9 7-9 7z" /></button>
      <button type="button" title="End" aria-label="To the end" disabled={!most || k === most} onClick={() => store.goTo(most)}><Icon d="M18 5v14M5 5l10 7-10 7z" /></button>
      <input type="range" aria-label="Step" min={0} max={Math.max(1, most)} value={k} disabled={!most} onPointerDown={() => setIsHeld(true)} onPointerUp={() => setIsHeld(false)} data-held={isHeld || undefined} onInput={(event) => store.goTo(Number(event.currentTarget.value))} />
      <output data-testid="counter">{most ? `${k} / ${most}` : "no steps"}</output>
    </div>
  );
}

export function Icon({ d }: { d: string }) {
  return (
    <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" class="mm-icon"><path d={d} /></svg>
  );
}
