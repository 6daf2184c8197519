// Seven of the eight screens: all but the plane. Each is a function of the store.

import { scaleLinear, scaleLog } from "d3-scale";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colourOf, greys, marker } from "./colours";
import { Fit } from "./fit";
import type { Store } from "./store";
import { ANY_MACHINE, linkOf, SOLVERS, TENTHS, within } from "./state";
import { useWidth } from "./width";
import { placed, plainly, sentenceOf, short, withLetters } from "./words";

const MOST_DRAWN = 1000; // points of a curve
const MOST_COMPARED = 4;
const LEAST_LOG = 1e-12;
const STEPS = "step";
const AT_BOUND = 1 - 1e-9;
const ROUNDING = 1e-8; // of the largest eigenvalue; a smaller one may be zero

// Step.

export function StepScreen({ store }: { store: Store }) {
  const fit = store.settled.value;
  if (!fit) return null;
  const k = store.k.value;
  return (
    <>
      <p class="mm-sentence" aria-live="polite" data-testid="sentence">
        {sentenceOf(fit, k)}
      </p>
      {fit.nSteps > 0 && k > 0 && <StepFigures fit={fit} k={k} />}
      {fit.nSteps > 0 && k === 0 && <p class="mm-note">The box of two multipliers and the parabola along it appear with the first step.</p>}
    </>
  );
}

function StepFigures({ fit, k }: { fit: Fit; k: number }) {
  const step = fit.step(k - 1);
  const m = step.problem;
  const rows = fit.array(`rows${m}`);
  const turn = fit.array(`turn${m}`);
  const box = fit.array(`box${m}`);
  const before = fit.variablesAt(k - 1)[m];
  const from = [turn[step.i] * before[step.i], turn[step.j] * before[step.j]];
  const two = fit.kind === "svr";
  const numbers: [preact.ComponentChildren, string, string][] = [
    ["pair", `${rows[step.i] + 1}, ${rows[step.j] + 1}`, "the two points that move"],
    [<>E<sub>i</sub></>, short(step.error_i), "f − y at i before the step"],
    [<>E<sub>j</sub></>, short(step.error_j), "f − y at j before the step"],
    ["η", short(step.eta), "curvature: squared distance in feature space"],
    ["L", short(step.L), "lower end of the segment"],
    ["H", short(step.H), "upper end of the segment"],
    ["unclipped", short(step.unclipped), "top of the parabola"],
    ["clipped", short(step.clipped), "where the second multiplier goes"],
    ["b", short(step.b), "bias after the step"],
    ["dual", short(step.objective), "objective after the step"],
    ["gap", short(step.gap), "primal − dual"],
    ["violation", short(step.violation), "of the worst pair"],
  ];
  return (
    <>
      <div class="mm-pictures">
        <BoxPicture step={step} from={from} box={[box[step.i], box[step.j]]} signs={[turn[step.i], turn[step.j]]} two={two} />
        <Parabola step={step} from={from[1]} />
      </div>
      <dl class="mm-numbers">
        {numbers.map(([name, value, words]) => (
          <div key={words} title={words}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Refused fit={fit} k={k} />
    </>
  );
}

function Refused({ fit, k }: { fit: Fit; k: number }) {
  const at = fit.array("refused_step");
  const found: string[] = [];
  for (let row = 0; row < at.length && found.length < 4; row++) {
    if (at[row] !== k - 1) continue;
    const rows = fit.array(`rows${fit.step(k - 1).problem}`);
    const pair = `${rows[fit.array("refused_i")[row]] + 1}, ${rows[fit.array("refused_j")[row]] + 1}`;
    found.push(`${pair}: ${fit.header.refusals[fit.array("refused_why")[row]]}`);
  }
  if (!found.length) return null;
  return (
    <details class="mm-refused">
      <summary>Pairs that were tried and refused</summary>
      <ul>
        {found.map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
    </details>
  );
}

type StepRow = ReturnType<Fit["step"]>;

/** The box of (alpha_i, alpha_j), the line on which their sum stays, and the move along it. */
function BoxPicture(props: { step: StepRow; from: number[]; box: number[]; signs: number[]; two: boolean }) {
  const { step, from, box, signs, two } = props;
  const size = 190;
  const pad = 26;
  const low = two ? -1 : 0;
  const reach = [0, 1].map((at) => boxReach(box[at], [from[at], at ? step.clipped : step.alpha_i]));
  const x = scaleLinear([low * reach[0], reach[0]], [pad, size - 10]);
  const y = scaleLinear([low * reach[1], reach[1]], [size - pad, 10]);
  const other = (end: number) => from[0] + signs[0] * signs[1] * (from[1] - end);
  const line = { x1: x(other(step.L)), y1: y(step.L), x2: x(other(step.H)), y2: y(step.H) };
  const isCut = [0, 1].map((at) => reach[at] < box[at]);
  const top = within(step.unclipped, low * reach[1] * 1.1, reach[1] * 1.1);
  return (
    <figure>
      <svg viewBox={`0 0 ${size} ${size}`} class="mm-chart" role="img" aria-label={`The box of the two multipliers: alpha j moves from ${short(from[1])} to ${short(step.clipped)}, between ${short(step.L)} and ${short(step.H)}.`}>
        <rect class="mm-box" x={x(low * reach[0])} y={y(reach[1])} width={x(reach[0]) - x(low * reach[0])} height={y(low * reach[1]) - y(reach[1])} />
        <line {...line} class="mm-segment" />
        <circle cx={line.x1} cy={line.y1} r={3} class="mm-end" />
        <circle cx={line.x2} cy={line.y2} r={3} class="mm-end" />
        <text {...beside(line.x1, line.y1, line, size)} class="mm-tag">L</text>
        <text {...beside(line.x2, line.y2, line, size)} class="mm-tag">H</text>
        {Math.abs(step.unclipped - step.clipped) > 1e-9 && <circle cx={within(x(other(top)), 4, size - 4)} cy={within(y(top), 4, size - 4)} r={4.5} class="mm-unclipped" />}
        <circle cx={x(from[0])} cy={y(from[1])} r={4.5} class="mm-from" />
        <circle cx={x(step.alpha_i)} cy={y(step.clipped)} r={5.5} class="mm-to" />
        <text x={(pad + size - 10) / 2} y={size - 8} class="mm-axis" text-anchor="middle">α<tspan class="mm-sub" dy="4">i</tspan></text>
        <text x={12} y={(size - pad) / 2 + 8} class="mm-axis" text-anchor="middle">α<tspan class="mm-sub" dy="4">j</tspan></text>
        <text x={size - 10} y={size - 8} class="mm-tick" text-anchor="end">{short(reach[0])}</text>
        <text x={pad - 4} y={18} class="mm-tick" text-anchor="end">{isWhole(reach[1]) && short(reach[1])}</text>
        <text x={pad} y={size - 8} class="mm-tick" text-anchor="middle">{short(low * reach[0])}</text>
      </svg>
      <figcaption>The box{isCut.some(Boolean) ? ", near the pair," : ""} and the line on which both stay</figcaption>
    </figure>
  );
}

/** There is room for a digit or two on the left. */
const isWhole = (value: number) => Number.isInteger(value) && value < 100;

/** Next to an end of the segment: off the line, and on the side with more room. */
function beside(x: number, y: number, line: { x1: number; y1: number; x2: number; y2: number }, size: number) {
  const [dx, dy] = [line.x2 - line.x1, line.y2 - line.y1];
  const length = Math.hypot(dx, dy) || 1;
  const inward = x === line.x1 && y === line.y1 ? 17 : -17;
  const places = [12, -12].map((off) => [x + (inward * dx - off * dy) / length, y + (inward * dy + off * dx) / length]);
  const room = ([px, py]: number[]) => Math.min(px - 26, size - 10 - px, py - 10, size - 26 - py);
  const [px, py] = room(places[0]) >= room(places[1]) ? places[0] : places[1];
  return { x: px, y: py + 4, "text-anchor": "middle" as const };
}

/** A box much larger than where its multipliers are is cut, so that something is to be seen. */
function boxReach(box: number, values: number[]) {
  const most = Math.max(...values.map(Math.abs));
  return most > 0 && box > 20 * most ? 2 * most : box;
}

/** The dual objective along alpha_j: a parabola with its top where eta and the errors say. */
function Parabola({ step, from }: { step: StepRow; from: number }) {
  const width = 190;
  const height = 190;
  const pad = 26;
  const ends = [step.L, step.H, from, step.clipped];
  const span = Math.max(...ends) - Math.min(...ends) || 1;
  const top = within(step.unclipped, Math.min(...ends) - 1.2 * span, Math.max(...ends) + 1.2 * span);
  const [low, high] = [Math.min(...ends, top) - 0.12 * span, Math.max(...ends, top) + 0.12 * span];
  const best = step.objective + 0.5 * step.eta * (step.clipped - step.unclipped) ** 2;
  const value = (a: number) => best - 0.5 * step.eta * (a - step.unclipped) ** 2;
  const values = Array.from({ length: 61 }, (_, at) => low + (at / 60) * (high - low));
  const heights = values.map(value);
  const x = scaleLinear([low, high], [pad - 16, width - 8]);
  const y = scaleLinear([Math.min(...heights), Math.max(...heights)], [height - pad - 4, 14]);
  const path = values.map((a, at) => `${at ? "L" : "M"}${x(a).toFixed(1)} ${y(heights[at]).toFixed(1)}`).join("");
  return (
    <figure>
      <svg viewBox={`0 0 ${width} ${height}`} class="mm-chart" role="img" aria-label={`The objective along alpha j: it rises by ${short(step.objective - value(from))}.`}>
        <rect class="mm-allowed" x={x(step.L)} y={8} width={Math.max(1, x(step.H) - x(step.L))} height={height - pad - 8} />
        <path d={path} class="mm-curve" />
        {Math.abs(step.unclipped - step.clipped) > 1e-9 && <circle cx={x(top)} cy={y(value(top))} r={4.5} class="mm-unclipped" />}
        <circle cx={x(from)} cy={y(value(from))} r={4.5} class="mm-from" />
        <circle cx={x(step.clipped)} cy={y(step.objective)} r={5.5} class="mm-to" />
        <text x={x(step.L)} y={height - 10} class="mm-tick" text-anchor="middle">L</text>
        <text x={x(step.H)} y={height - 10} class="mm-tick" text-anchor="middle">H</text>
      </svg>
      <figcaption>The dual on that line: {short(step.objective - value(from))} gained</figcaption>
    </figure>
  );
}

// Curves.

type Line = { name: string; values: ArrayLike<number>; at: ArrayLike<number>; colour: string; dash?: string };

/** Lines over one axis of steps or work; a click goes to the step. */
export function Chart(props: {
  lines: Line[]; log?: boolean; cursor?: number; onPick?: (at: number) => void; label: string; height?: number; unit?: string;
}) {
  const { lines, log, cursor, onPick, label, height = 190, unit = STEPS } = props;
  const [holder, width] = useWidth(360, 180);
  const pad = { left: 46, right: 12, top: 12, bottom: 24 };
  const all = lines.flatMap((line) => Array.from(line.values)).filter((v) => Number.isFinite(v) && (!log || v > LEAST_LOG));
  const most = Math.max(1, ...lines.map((line) => line.at[line.at.length - 1] ?? 1));
  const least = Math.min(...lines.map((line) => line.at[0] ?? 1)) - 1;
  const x = scaleLinear([unit === STEPS ? least : 0, most], [pad.left, width - pad.right]);
  const [low, high] = all.length ? [Math.min(...all), Math.max(...all)] : [log ? 1e-3 : 0, 1];
  const y = log
    ? scaleLog([low, Math.max(high, low * 10)], [height - pad.bottom, pad.top]).nice()
    : scaleLinear([Math.min(0, low), high || 1], [height - pad.bottom, pad.top]).nice();
  const decades = log ? Math.max(1, Math.ceil(Math.log10((y as any).domain()[1] / (y as any).domain()[0]) / 4)) : 1;
  const ticks = log
    ? (y as any).ticks().filter((v: number) => { const e = Math.log10(v); return Math.abs(e - Math.round(e)) < 1e-9 && Math.round(e) % decades === 0; })
    : (y as any).ticks(4);
  const path = (line: Line) => {
    const stride = Math.max(1, Math.ceil(line.values.length / MOST_DRAWN));
    let out = "";
    for (let at = 0; at < line.values.length; at = at === line.values.length - 1 ? at + 1 : Math.min(at + stride, line.values.length - 1)) {
      const v = line.values[at];
      if (!Number.isFinite(v) || (log && v <= LEAST_LOG)) continue;
      out += `${out ? "L" : "M"}${x(line.at[at]).toFixed(1)} ${y(v).toFixed(1)}`;
    }
    return out;
  };
  const pick = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    onPick?.(Math.round(x.invert(((event.clientX - box.left) / box.width) * width)));
  };
  return (
    <div ref={holder}>
      <svg viewBox={`0 0 ${width} ${height}`} height={height} width="100%" class={`mm-chart ${onPick ? "mm-pick" : ""}`} role="img" aria-label={label} onClick={pick}>
        {ticks.map((v: number) => (
          <g key={v}>
            <line x1={pad.left} x2={width - pad.right} y1={y(v)} y2={y(v)} class="mm-grid" />
            <text x={pad.left - 7} y={y(v) + 3.5} class="mm-tick" text-anchor="end">{log ? power(v) : plainly(v)}</text>
          </g>
        ))}
        {x.ticks(5).filter(Number.isInteger).map((v) => (
          <text key={v} x={x(v)} y={height - 7} class="mm-tick" text-anchor="middle">{v}</text>
        ))}
        {lines.map((line) => (
          <path key={line.name} d={path(line)} class="mm-line" stroke={line.colour} stroke-dasharray={line.dash} />
        ))}
        {cursor !== undefined && <line x1={x(cursor)} x2={x(cursor)} y1={pad.top} y2={height - pad.bottom} class="mm-cursor" />}
      </svg>
      <div class="mm-below">
      <ul class="mm-legend">
        {lines.map((line) => (
          <li key={line.name}>
            <svg width="22" height="8" aria-hidden="true"><line x1="1" x2="21" y1="4" y2="4" stroke={line.colour} stroke-width="2.4" stroke-dasharray={line.dash} /></svg>
            {line.name}
          </li>
        ))}
      </ul>
      <p class="mm-unit">by {unit}</p>
      </div>
    </div>
  );
}

const SUPER: Record<string, string> = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const power = (value: number) => `10${[...`${Math.round(Math.log10(value))}`].map((c) => SUPER[c]).join("")}`;

export function CurvesScreen({ store }: { store: Store }) {
  const fit = store.settled.value;
  const dark = store.isDark.value;
  const m = store.machine.value;
  const own = useMemo(() => (fit ? curvesOf(fit, m) : null), [fit, m]);
  if (!fit || !own || !own.at.length) return <p class="mm-note">Choose a solver that goes step by step to see its curves.</p>;
  const cursor = store.k.value;
  const go = (at: number) => store.goTo(at);
  return (
    <div class="mm-two">
      <Chart
        label="Primal and dual objective by step; they meet at the optimum."
        lines={[
          { name: "primal", values: own.primal, at: own.at, colour: colourOf(1, dark) },
          { name: "dual", values: own.dual, at: own.at, colour: colourOf(0, dark), dash: "6 3" },
        ]}
        cursor={cursor}
        onPick={go}
      />
      <Chart
        label="Duality gap and violation by step, on a logarithmic scale."
        log
        lines={[
          { name: "gap", values: own.gap, at: own.at, colour: colourOf(2, dark) },
          { name: "violation", values: own.violation, at: own.at, colour: colourOf(3, dark), dash: "2 2.5" },
        ]}
        cursor={cursor}
        onPick={go}
      />
    </div>
  );
}

function curvesOf(fit: Fit, m: number) {
  if (!fit.hasSteps) return null;
  const own: number[] = [];
  fit.array("step_problem").forEach((problem, k) => problem === m && own.push(k));
  const take = (name: string) => own.map((k) => fit.array(`step_${name}`)[k]);
  const [dual, gap] = [take("objective"), take("gap")];
  return { at: own.map((k) => k + 1), dual, gap, primal: dual.map((v, k) => v + gap[k]), violation: take("violation") };
}

// KKT.

export function KktScreen({ store }: { store: Store }) {
  const fit = store.settled.value;
  if (!fit) return null;
  const k = store.k.value;
  const said = store.word.value?.header ?? (fit.isEnd(k) ? fit.header : null);
  return (
    <div class="mm-kkt">
      <KktPicture store={store} fit={fit} k={k} m={store.machine.value} />
      <ol class="mm-conditions">
        {(fit.isEnd(k) ? fit.header : said ?? fit.header).conditions.map((one: any) => (
          <li key={one.name} data-holds={said ? one.holds : undefined}>
            <strong>{one.name.replaceAll("_", " ")}</strong>
            <span class="mm-words">{withLetters(one.words)}</span>
            <span class="mm-off">{said ? (one.holds ? `holds, ${short(one.violation)}` : `off by ${short(one.violation)}`) : "…"}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The multiplier against the margin: at the optimum every point stands on the bent line. */
function KktPicture({ store, fit, k, m }: { store: Store; fit: Fit; k: number; m: number }) {
  const dark = store.isDark.value;
  const [holder, width] = useWidth(320, 200);
  const height = Math.round(within(0.85 * width, 220, 320));
  const pad = { left: 40, right: 12, top: 14, bottom: 38 };
  const f = fit.decisionAt(k, m);
  const signs = fit.signs(m);
  const coef = fit.coefAt(k, m);
  const full = fit.fullness(k, m);
  const tube = fit.tubeAt(k, store.state.value.model.epsilon);
  const rows = Array.from({ length: fit.n }, (_, row) => row).filter((row) => signs[row] !== 0);
  const along = (row: number) => (fit.isRegression ? fit.y(row) - f[row] : signs[row] * f[row]);
  const up = (row: number) => (fit.isRegression ? Math.sign(coef[row]) * full[row] : full[row]);
  const corner = fit.isRegression ? tube : fit.isClassifier ? 1 : 0;
  const ends = rows.map(along);
  const reach = Math.max(0.05, ...ends.map((v) => Math.abs(v - (fit.isRegression ? 0 : corner))));
  const clip = Math.min(reach, Math.max(3, 4 * corner));
  const centre = fit.isRegression ? 0 : corner;
  const x = scaleLinear([centre - 1.08 * clip, centre + 1.08 * clip], [pad.left, width - pad.right]);
  const y = scaleLinear(fit.isRegression ? [-1.08, 1.08] : [-0.06, 1.08], [height - pad.bottom, pad.top]);
  const [left, right] = x.domain();
  const ideal = fit.isRegression
    ? `M${x(left)} ${y(-1)}H${x(-corner)}V${y(0)}H${x(corner)}V${y(1)}H${x(right)}`
    : `M${x(left)} ${y(1)}H${x(corner)}V${y(0)}H${x(right)}`;
  const label = fit.array("label");
  const isPlain = !fit.isClassifier;
  const most = fit.kind === "nusvc" || fit.kind === "one_class" ? "max" : "C";
  const of = fit.nameOf(m);
  return (
    <div ref={holder}>
    {of && <p class="mm-note">Of {of}</p>}
    <svg viewBox={`0 0 ${width} ${height}`} height={height} class="mm-chart" role="img" aria-label="Multiplier against margin, one mark for every point; the bent line is where the optimality conditions hold.">
      <path d={ideal} class="mm-ideal" />
      {x.ticks(5).map((v) => (
        <text key={v} x={x(v)} y={height - pad.bottom + 14} class="mm-tick" text-anchor="middle">{v}</text>
      ))}
      {(fit.isRegression ? [-1, 0, 1] : [0, 1]).map((v) => (
        <text key={v} x={pad.left - 8} y={y(v) + 4} class="mm-tick" text-anchor="end">{v === 0 ? "0" : `${v > 0 ? "" : "−"}${most}`}</text>
      ))}
      <text x={width - pad.right} y={height - 5} class="mm-axis" text-anchor="end">{fit.isRegression ? "y − f(x)" : fit.isClassifier ? "y f(x)" : "f(x)"}</text>
      <text x={pad.left - 30} y={y(0.5) + 4} class="mm-axis">α</text>
      {rows.map((row) => (
        <path
          key={row}
          class="mm-kkt-point"
          data-selected={store.selected.value === row || undefined}
          d={marker(isPlain ? 0 : label[row], 4.4)}
          fill={colourOf(isPlain ? 0 : label[row], dark)}
          transform={`translate(${x(within(along(row), left, right)).toFixed(1)} ${y(up(row)).toFixed(1)})`}
          onClick={() => (store.selected.value = row)}
        />
      ))}
    </svg>
    </div>
  );
}

// The kernel matrix.

export function GramScreen({ store }: { store: Store }) {
  const fit = store.settled.value;
  const [found, setFound] = useState<any>(null);
  const [words, setWords] = useState("");
  const wanted = fit && !store.busy.value ? fit : null;
  useEffect(() => {
    if (!wanted) return;
    let isOld = false;
    store.ask({ ask: "matrix", ...store.spec() }).then(
      (reply) => !isOld && (setFound({ reply, fit: wanted }), setWords("")),
      (error) => !isOld && (setFound(null), setWords(error.message)),
    );
    return () => void (isOld = true);
  }, [wanted]);
  if (!fit) return null;
  if (!found) return <p class="mm-note">{words || "…"}</p>;
  return <Matrix store={store} fit={found.fit} reply={found.reply} />;
}

function Matrix({ store, fit, reply }: { store: Store; fit: Fit; reply: any }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = store.isDark.value;
  const n = reply.arrays.order.length;
  const K = reply.arrays.K as Float32Array;
  const [low, high] = useMemo(() => {
    let [a, b] = [Infinity, -Infinity];
    for (const v of K) [a, b] = [Math.min(a, v), Math.max(b, v)];
    return [Math.min(a, 0), b];
  }, [reply]);
  useEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    const image = context.createImageData(n, n);
    const paint = greys(dark);
    for (let at = 0; at < n * n; at++) {
      image.data.set(paint((K[at] - low) / (high - low || 1)), 4 * at);
      image.data[4 * at + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [reply, dark, n]);
  const k = store.k.value;
  const lit = k > 0 && k <= fit.nSteps && store.state.value.step >= 0 ? litRows(fit, k, reply.arrays.order) : [];
  const spectrum = reply.arrays.spectrum as Float64Array;
  const negative = spectrum[n - 1] < -ROUNDING * Math.abs(spectrum[0]);
  return (
    <div class="mm-gram">
      <figure>
        <div class="mm-matrix">
          {!fit.isRegression && <Belonging fit={fit} order={reply.arrays.order} dark={dark} />}
          <canvas ref={canvas} width={n} height={n} role="img" aria-label={`The kernel matrix of ${n} points, sorted by class`} />
          <svg viewBox={`0 0 ${n} ${n}`} preserveAspectRatio="none" aria-hidden="true">
            {lit.length > 0 && <Unlit lit={lit} n={n} />}
          </svg>
        </div>
        <figcaption>K, {fit.isRegression ? "sorted by x" : "sorted by class"}: from {short(low)} to {short(high)}{lit.length ? "; the pair's rows are lit" : ""}</figcaption>
      </figure>
      <figure>
        <Spectrum values={spectrum} dark={dark} />
        <figcaption>
          {negative
            ? `Eigenvalues: the least is ${short(spectrum[n - 1])}, so this kernel is not Mercer's`
            : `Eigenvalues from ${short(spectrum[0])} down: ${share(spectrum)}`}
        </figcaption>
      </figure>
    </div>
  );
}

/** All but the rows and columns of the pair is dimmed. */
function Unlit({ lit, n }: { lit: number[]; n: number }) {
  const edges = [-1, ...[...new Set(lit)].sort((a, b) => a - b), n];
  const spans = edges.slice(1).map((end, at) => [edges[at] + 1, end - edges[at] - 1]);
  return (
    <g class="mm-unlit">
      {spans.flatMap(([y, height]) => spans.map(([x, width]) => <rect key={`${x},${y}`} x={x} y={y} width={width} height={height} />))}
    </g>
  );
}

/** The class of every row and column, along the edges. */
function Belonging({ fit, order, dark }: { fit: Fit; order: Int32Array; dark: boolean }) {
  const label = fit.array("label");
  const n = order.length;
  const isPlain = !fit.isClassifier;
  return (
    <>
      {["mm-rows", "mm-columns"].map((side, down) => (
        <svg key={side} class={side} viewBox={down ? `0 0 ${n} 1` : `0 0 1 ${n}`} preserveAspectRatio="none" aria-hidden="true">
          {Array.from(order, (row, at) => (
            <rect key={at} x={down ? at : 0} y={down ? 0 : at} width={1} height={1} fill={colourOf(isPlain ? 0 : label[row], dark)} />
          ))}
        </svg>
      ))}
    </>
  );
}

function litRows(fit: Fit, k: number, order: Int32Array): number[] {
  const step = fit.step(k - 1);
  const rows = fit.array(`rows${step.problem}`);
  return [rows[step.i], rows[step.j]].map((row) => order.indexOf(row));
}

function share(values: Float64Array) {
  const total = values.reduce((a, b) => a + Math.max(b, 0), 0);
  let [sum, count] = [0, 0];
  while (count < values.length && sum < 0.9 * total) sum += Math.max(values[count++], 0);
  return `${count} of ${values.length} hold 90\u00a0%`;
}

function Spectrum({ values, dark }: { values: Float64Array; dark: boolean }) {
  const [width, height] = [260, 170];
  const shown = Array.from(values).slice(0, 60);
  const least = Math.min(0, ...shown, values[values.length - 1]);
  const y = scaleLinear([least, Math.max(...shown)], [height - 8, 8]);
  const bar = (width - 16) / shown.length;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} class="mm-chart" role="img" aria-label="The eigenvalues of the kernel matrix">
      <line x1={4} x2={width - 4} y1={y(0)} y2={y(0)} class="mm-grid" />
      {shown.map((v, at) => (
        <rect key={at} x={8 + at * bar} width={Math.max(1, bar - 1)} y={Math.min(y(v), y(0))} height={Math.max(0.6, Math.abs(y(v) - y(0)))} fill={colourOf(v < -ROUNDING * shown[0] ? 1 : 0, dark)} />
      ))}
    </svg>
  );
}

// Compare.

export function CompareScreen({ store }: { store: Store }) {
  const [chosen, setChosen] = useState(["smo_steps", "first_order"]);
  const [clock, setClock] = useState<"steps" | "values">("steps");
  const [done, setRuns] = useState<{ name: string; fit: Fit; of: Fit | null }[]>([]);
  const runs = done.filter(({ of }) => of === store.settled.value); // and not of other points
  const [words, setWords] = useState("");
  const [isRunning, setIsRunning] = useState(false);
  const dark = store.isDark.value;
  const model = store.state.value.model.name;
  const names = Object.keys(SOLVERS).filter((name) => name !== "smo" && (model === "svc" || ANY_MACHINE.includes(name)));
  const toggle = (name: string) =>
    setChosen(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name].slice(-MOST_COMPARED));
  const run = async () => {
    setIsRunning(true);
    setWords("");
    const of = store.settled.value;
    const found: { name: string; fit: Fit; of: Fit | null }[] = [];
    for (const name of chosen.filter((one) => names.includes(one))) {
      try {
        const reply = await store.ask({ ask: "fit", ...store.spec(), solver: name });
        found.push({ name, of, fit: new Fit(reply, of!.grid) });
      } catch (error) {
        setWords(`${SOLVERS[name]}: ${(error as Error).message}`);
      }
      setRuns([...found]);
    }
    setIsRunning(false);
  };
  return (
    <div>
      <div class="mm-chips" role="group" aria-label="Up to four solvers">
        {names.map((name) => (
          <button key={name} type="button" aria-pressed={chosen.includes(name)} onClick={() => toggle(name)}>{SOLVERS[name]}</button>
        ))}
      </div>
      <div class="mm-row">
        <button type="button" class="mm-primary" onClick={run} disabled={isRunning || !chosen.length}>{isRunning ? "Running…" : "Run them"}</button>
        <label class="mm-inline">
          Clock
          <select value={clock} onChange={(event) => setClock(event.currentTarget.value as "steps" | "values")}>
            <option value="steps">steps</option>
            <option value="values">kernel values read</option>
          </select>
        </label>
      </div>
      {words && <p class="mm-error">{words}</p>}
      {runs.length > 0 ? (
        <>
          <Chart
            label="The duality gap of each solver on one clock"
            log
            height={230}
            unit={clock === "steps" ? STEPS : "kernel values read"}
            lines={runs.map(({ name, fit }, at) => ({
              name: `${SOLVERS[name]}: ${fit.nSteps} steps`,
              values: fit.array("step_gap"),
              at: clockOf(fit, clock),
              colour: colourOf(at, dark),
              dash: ["", "6 3", "2 2.5", "8 2 2 2"][at],
            }))}
          />
          <p class="mm-note">The gap, on a logarithmic scale. A step reads two rows of K, and a pair that is tried in vain one value.</p>
        </>
      ) : (
        <p class="mm-note">Choose up to four solvers and run them on the same points: who needs fewer steps, and at what price?</p>
      )}
    </div>
  );
}

function clockOf(fit: Fit, clock: "steps" | "values"): number[] {
  let read = 0;
  const refused = fit.array("step_refused");
  return Array.from(fit.array("step_i"), (_, k) => (clock === "steps" ? k + 1 : (read += 2 * fit.n + refused[k] + 1)));
}

// Points.

export function PointsScreen({ store }: { store: Store }) {
  const fit = store.settled.value;
  const table = useRef<HTMLDivElement>(null);
  const selected = store.selected.value;
  useEffect(() => {
    const row = table.current?.querySelector<HTMLElement>("tr[data-selected]");
    if (row && table.current) table.current.scrollTop = row.offsetTop - table.current.clientHeight / 2;
  }, [selected]);
  if (!fit) return null;
  const k = store.k.value;
  const m = store.machine.value;
  const f = fit.decisionAt(k, m);
  const coef = fit.coefAt(k, m);
  const full = fit.fullness(k, m);
  const label = fit.array("label");
  const dark = store.isDark.value;
  const of = fit.nameOf(m);
  const isWeighted = fit.array("weight").some((weight: number) => weight !== 1);
  return (
    <>
    {of && <p class="mm-note">Of {of}</p>}
    <div class="mm-table" ref={table} tabIndex={0} role="region" aria-label="Table of the points">
      <table>
        <thead>
          <tr>
            <th scope="col">#</th><th scope="col">x</th><th scope="col">y</th>
            {fit.isClassifier && <th scope="col"><span class="mm-hidden">class</span></th>}
            {isWeighted && <th scope="col">weight</th>}
            <th scope="col">α</th><th scope="col">f(x)</th><th scope="col" class="mm-role">role</th>
            <th scope="col" class="mm-away"><span class="mm-hidden">take away</span></th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: fit.n }, (_, row) => (
            <tr key={row} data-selected={selected === row || undefined} onClick={() => (store.selected.value = row)}>
              <th scope="row">{row + 1}</th>
              <td>{selected === row ? <Coordinate store={store} row={row} axis={0} value={fit.x(row)} /> : placed(fit.x(row))}</td>
              <td>{selected === row ? <Coordinate store={store} row={row} axis={1} value={fit.y(row)} /> : placed(fit.y(row))}</td>
              {fit.isClassifier && <td><Mark label={label[row]} name={fit.header.classes[label[row]]} dark={dark} /></td>}
              {isWeighted && <td>{short(fit.array("weight")[row])}</td>}
              <td>{coef[row] ? placed(Math.abs(coef[row])) : "0"}</td>
              <td>{placed(f[row])}</td>
              <td class="mm-role">{full[row] === 0 ? "–" : full[row] >= AT_BOUND ? "at bound" : "support"}</td>
              <td class="mm-away">
                {!store.options.isRecorded && (
                  <button type="button" class="mm-cross" aria-label={`Take away point ${row + 1}`} onClick={(event) => { event.stopPropagation(); store.removePoint(row); }}>×</button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
        {fit.isClassifier && <Balance fit={fit} coef={coef} m={m} dark={dark} isWeighted={isWeighted} />}
      </table>
    </div>
    </>
  );
}

function Mark({ label, name, dark }: { label: number; name: string; dark: boolean }) {
  return (
    <svg viewBox="-8 -8 16 16" width="14" height="14" role="img" aria-label={`class ${name}`}><path d={marker(label, 5)} fill={colourOf(label, dark)} /></svg>
  );
}

/** The multipliers of both sides, which are in balance at every step. */
function Balance(props: { fit: Fit; coef: Float64Array; m: number; dark: boolean; isWeighted: boolean }) {
  const { fit, coef, m, dark, isWeighted } = props;
  const sides = [1, 0].map((at) => {
    const label = fit.machines[m].classes![at];
    const sum = coef.reduce((total, value, row) => total + (fit.array("label")[row] === label ? Math.abs(value) : 0), 0);
    return { label, sum };
  });
  return (
    <tfoot>
      <tr>
        <td colSpan={isWeighted ? 7 : 6}>
          Σ α
          {sides.map(({ label, sum }) => (
            <span key={label}><Mark label={label} name={fit.header.classes[label]} dark={dark} /> {placed(sum)}</span>
          ))}
        </td>
        <td class="mm-role" />
        <td class="mm-away" />
      </tr>
    </tfoot>
  );
}

function Coordinate({ store, row, axis, value }: { store: Store; row: number; axis: 0 | 1; value: number }) {
  const take = (text: string) => {
    const wanted = Number(text);
    if (!Number.isFinite(wanted)) return;
    const box = store.view.value;
    const [low, high] = [box[2 * axis], box[2 * axis + 1]];
    store.editPoint(row, (place) => {
      const moved = [...place] as typeof place;
      moved[axis] = Math.round(within((wanted - low) / (high - low), 0, 1) * 65535);
      return moved;
    });
  };
  return <input type="number" step="any" aria-label={`${axis ? "y" : "x"} of point ${row + 1}`} value={value.toFixed(3)} onChange={(event) => take(event.currentTarget.value)} />;
}

/** What can be done with the point that is chosen. */
export function PointTools({ store }: { store: Store }) {
  const fit = store.settled.value;
  const row = store.selected.value;
  if (!fit || row < 0 || row >= fit.n) return null;
  const told = <span class="mm-told">{factsOf(store, fit, row)}</span>;
  if (store.options.isRecorded) return told;
  const weight = Math.round(fit.array("weight")[row] * TENTHS);
  const setWeight = (tenths: number) =>
    store.editPoint(row, ([x, y, label]) => [x, y, label, within(Math.round(tenths), 1, 1000)]);
  return (
    <div class="mm-tools" role="group" aria-label={`Point ${row + 1}`}>
      {told}
      <button type="button" onClick={() => setWeight(weight / 2)} aria-label="Halve its weight">½×</button>
      <span>weight {short(weight / TENTHS)}</span>
      <button type="button" onClick={() => setWeight(weight * 2)} aria-label="Double its weight">2×</button>
      {fit.isClassifier && (
        <button type="button" onClick={() => store.editPoint(row, ([x, y, label, w]) => [x, y, (label + 1) % Math.max(2, fit.header.classes.length), w])}>Next class</button>
      )}
      <button type="button" onClick={() => store.removePoint(row)}>Delete</button>
    </div>
  );
}

/** A point in one line: its multiplier, where it stands, and what it lacks. */
function factsOf(store: Store, fit: Fit, row: number): string {
  const [k, m] = [store.k.value, store.machine.value];
  const sign = fit.signs(m)[row];
  if (sign === 0) return `Point ${row + 1} has no part in ${fit.nameOf(m)}.`;
  const f = fit.decisionAt(k, m)[row];
  const slack = fit.slackAt(k, m, row, fit.tubeAt(k, store.state.value.model.epsilon));
  const place = fit.isRegression ? `y − f(x) = ${placed(fit.y(row) - f)}` : fit.isClassifier ? `y f(x) = ${placed(sign * f)}` : `f(x) = ${placed(f)}`;
  const bound = fit.fullness(k, m)[row] >= AT_BOUND ? ", which is all it may have" : "";
  return `Point ${row + 1}: ${place}, so it ${slack > 1e-3 ? `pays ${placed(slack)}` : "pays nothing"}. Its α is ${short(Math.abs(fit.coefAt(k, m)[row]))}${bound}.`;
}

// Code and link.

export function CodeScreen({ store }: { store: Store }) {
  const fit = store.settled.value;
  const [copied, setCopied] = useState("");
  if (!fit) return null;
  const link = store.options.hasLink ? `${location.origin}${location.pathname}${linkOf(store.state.value)}` : linkOf(store.state.value);
  const copy = async (what: string, text: string) => {
    await navigator.clipboard.writeText(text);
    setCopied(what);
    window.setTimeout(() => setCopied(""), 1500);
  };
  const proof = fit.header.certificate;
  return (
    <div class="mm-code">
      <p class="mm-note">This Python makes the same model, digit by digit, with the library that this page runs on.</p>
      <pre data-testid="code" tabIndex={0} aria-label="Python code"><code>{fit.header.code}</code></pre>
      <div class="mm-row">
        <button type="button" onClick={() => copy("code", fit.header.code)}>{copied === "code" ? "Copied" : "Copy the code"}</button>
        <button type="button" onClick={() => copy("link", link)}>{copied === "link" ? "Copied" : "Copy the link"}</button>
      </div>
      <label class="mm-link">Link <input readOnly value={link} onFocus={(event) => event.currentTarget.select()} /></label>
      <dl class="mm-numbers" data-testid="certificate">
        <div><dt>primal</dt><dd data-testid="primal">{short(proof.primal_objective)}</dd></div>
        <div><dt>dual</dt><dd data-testid="dual">{short(proof.dual_objective)}</dd></div>
        <div><dt>gap</dt><dd>{short(proof.duality_gap)}</dd></div>
        <div><dt>proof</dt><dd>{proof.optimal ? "optimal" : proof.stationary ? "stationary" : "not yet"}</dd></div>
        <div><dt>intercept</dt><dd data-testid="intercept">{fit.header.intercept.map(short).join(", ")}</dd></div>
        <div><dt>{fit.isRegression ? "R²" : fit.isClassifier ? "accuracy" : "inside"}</dt><dd>{short(fit.header.score)}</dd></div>
      </dl>
    </div>
  );
}
