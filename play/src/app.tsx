// The page: one view on a wide screen, tabs on a narrow one.

import { useEffect, useRef } from "preact/hooks";
import { ClassPicker, Controls, Icon, Transport } from "./controls";
import { LESSONS } from "./lessons";
import { Plane } from "./plane";
import { CodeScreen, CompareScreen, CurvesScreen, GramScreen, KktScreen, PointsScreen, PointTools, StepScreen } from "./screens";
import type { Store } from "./store";
import { SCREENS } from "./state";
import { short } from "./words";

const TITLES: Record<string, string> = {
  plane: "Plane", step: "Step", curves: "Curves", kkt: "KKT", gram: "Gram matrix", compare: "Compare", points: "Points", code: "Code and link",
};
const CONTENTS: Record<string, (hold: Hold) => preact.JSX.Element | null> = {
  step: StepScreen, curves: CurvesScreen, kkt: KktScreen, gram: GramScreen, compare: CompareScreen, points: PointsScreen, code: CodeScreen,
};
// On a wide screen the one that the link names comes first on the right, beside the plane.
const MIDDLE = ["curves", "kkt", "points", "compare"];
const RIGHT = ["step", "gram", "code"];
const SHORT: Record<string, string> = { gram: "Gram", code: "Code" };

type Hold = { store: Store };

export function App({ store }: Hold) {
  const root = useRef<HTMLDivElement>(null);
  useKeys(store, root);
  const { view, lesson, hide } = store.state.value;
  const isOther = (name: string) => name !== view && !hide.includes(name);
  return (
    <div class="mm-play" ref={root} tabIndex={-1} onFocusIn={keepKeys} data-theme={store.isDark.value ? "dark" : "light"} data-view={view} data-lesson={lesson || undefined} data-recorded={store.options.isRecorded || undefined} data-ready={(store.fit.value && !store.busy.value) || undefined}>
      <Header store={store} />
      <Tabs store={store} />
      <main class="mm-main">
        <div class="mm-column">
          {lesson > 0 && <LessonCard store={store} />}
          {!store.options.isRecorded && (
            <section class="mm-card mm-settings" data-screen="settings" aria-label="Settings">
              <Controls store={store} />
            </section>
          )}
        </div>
        <div class="mm-column">
          <section class="mm-card mm-plane-card" data-screen="plane" aria-labelledby="mm-plane">
            <h2 id="mm-plane" class="mm-hidden">Plane</h2>
            <Plane store={store} />
            <Verdict store={store} />
            <Transport store={store} />
            <div class="mm-row mm-under">
              <ClassPicker store={store} />
              <PointTools store={store} />
            </div>
            <Reading store={store} />
          </section>
          {MIDDLE.filter(isOther).map((name) => (
            <Card key={name} name={name} store={store} />
          ))}
        </div>
        <div class="mm-column">
          {[view, ...RIGHT.filter(isOther)].map((name) => (
            name === "plane" ? null : <Card key={name} name={name} store={store} />
          ))}
        </div>
      </main>
    </div>
  );
}

/** JupyterLab takes keys for its own, and deletes the cell at a d d, unless what has the focus says no. */
const keepKeys = (event: FocusEvent) => (event.target as Element).setAttribute("data-lm-suppress-shortcuts", "true");

function Card({ name, store }: Hold & { name: string }) {
  const Screen = CONTENTS[name];
  return (
    <section class="mm-card" data-screen={name} aria-labelledby={`mm-${name}`}>
      <h2 id={`mm-${name}`}>{TITLES[name]}</h2>
      <Screen store={store} />
    </section>
  );
}

function Header({ store }: Hold) {
  return (
    <header class="mm-header">
      <h1><Logo /> maxmargin <span>play</span></h1>
      {store.options.isRecorded ? <p class="mm-note">A recorded fit. “maxmargin play” runs it on points of your own.</p> : <LessonPick store={store} />}
      <div class="mm-buttons">
        {!store.options.isRecorded && (
          <>
            <button type="button" aria-label="Undo" title="Undo (Ctrl Z)" disabled={!store.past.value.length} onClick={() => store.undo()}><Icon d="M4 10h10a5 5 0 0 1 0 10h-3M8 6 4 10l4 4" /></button>
            <button type="button" aria-label="Redo" title="Redo (Ctrl Shift Z)" disabled={!store.future.value.length} onClick={() => store.redo()}><Icon d="M20 10H10a5 5 0 0 0 0 10h3M16 6l4 4-4 4" /></button>
          </>
        )}
        <button type="button" aria-label="Light or dark" title="Light or dark" onClick={() => store.show({ theme: store.isDark.value ? "light" : "dark" })}><Icon d="M20 14.500A8 8 0 1 1 9.500 4a6.500 6.500 0 0 0 10.500 10.500z" /></button>
      </div>
    </header>
  );
}

function LessonPick({ store }: Hold) {
  return (
    <label class="mm-lesson-pick">
      <span class="mm-hidden">Lesson</span>
      <select value={store.state.value.lesson} onChange={(event) => store.openLesson(Number(event.currentTarget.value))}>
        <option value={0}>Free play</option>
        {LESSONS.map((one, at) => (
          <option key={one.page} value={at + 1}>{at + 1}. {one.title}</option>
        ))}
      </select>
    </label>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <path d="M4 28 28 4" class="mm-logo-line" />
      <path d="M4 19 19 4M13 28 28 13" class="mm-logo-dash" />
      <circle cx="8.500" cy="8.500" r="3.600" fill="#0072B2" />
      <path d="M24 18.500l4 7h-8z" fill="#D55E00" />
    </svg>
  );
}

function LessonCard({ store }: Hold) {
  const number = store.state.value.lesson;
  const lesson = LESSONS[number - 1];
  if (!lesson) return null;
  return (
    <section class="mm-lesson" aria-label={`Lesson ${number}`}>
      <p class="mm-eyebrow">Lesson {number} of {LESSONS.length}</p>
      <h2>{lesson.title}</h2>
      <p>{lesson.words}</p>
      <ul>
        {lesson.tries.map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
      <div class="mm-row">
        {number > 1 && <button type="button" onClick={() => store.openLesson(number - 1)}>Back</button>}
        {number < LESSONS.length && <button type="button" class="mm-primary" onClick={() => store.openLesson(number + 1)}>Next</button>}
        <button type="button" onClick={() => store.show({ hide: [], lesson: 0 })}>Free play</button>
      </div>
    </section>
  );
}

function Tabs({ store }: Hold) {
  const { view, hide } = store.state.value;
  const strip = useRef<HTMLElement>(null);
  useEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>("[aria-current]");
    if (tab) strip.current!.scrollLeft = tab.offsetLeft - strip.current!.clientWidth / 2 + tab.clientWidth / 2;
  }, [view]);
  return (
    <nav class="mm-tabs" aria-label="Screens" ref={strip}>
      {SCREENS.filter((name) => name === view || !hide.includes(name)).map((name) => (
        <button key={name} type="button" aria-current={view === name ? "page" : undefined} onClick={() => store.show({ view: name })}>{SHORT[name] ?? TITLES[name]}</button>
      ))}
    </nav>
  );
}

/** Whether it is proved, in one line, or what is wrong. */
function Verdict({ store }: Hold) {
  const fit = store.fit.value;
  if (store.error.value) return <p class="mm-error" role="alert">{store.error.value}</p>;
  if (!fit) return <p class="mm-verdict"> </p>;
  const { certificate, n_support } = fit.header;
  const k = store.k.value;
  if (!fit.isEnd(k)) {
    const m = store.machine.value;
    const which = fit.nameOf(m) && `${fit.nameOf(m)}, `;
    const held = fit.fullness(k, m).filter((full) => full > 0).length;
    return <p class="mm-verdict" data-kind="way">On the way: {which}{held} point{held === 1 ? "" : "s"} with a multiplier{k > 0 && `, gap ${short(fit.step(k - 1).gap)}`}</p>;
  }
  const words = certificate.optimal ? "Proved optimal" : certificate.stationary ? "A stationary point" : "Not optimal";
  return (
    <p class="mm-verdict" data-kind={certificate.optimal ? "good" : "doubt"}>
      {words}: {n_support} support vectors of {fit.n}, relative gap {short(certificate.relative_gap)}
      {fit.header.warnings.length > 0 && <span class="mm-warn"> {fit.header.warnings[0]}</span>}
    </p>
  );
}

/** What the marks of the plane mean. */
function Reading({ store }: Hold) {
  const fit = store.settled.value;
  if (!fit) return null;
  const { isRegression, isClassifier } = fit;
  const edge = isRegression ? "the edges of the tube, ε away from it" : "the edges of the street, where f is 1 and −1";
  return (
    <details class="mm-reading">
      <summary>How to read it</summary>
      <ul>
        <li><Sign><path class="mm-boundary" d="M2 10H30" /></Sign>{isRegression ? "the curve f" : isClassifier ? "the boundary, where f is 0" : "the edge of the region, where f is 0"}</li>
        {(isRegression || isClassifier) && <li><Sign><path class="mm-margin" d="M2 10H30" /></Sign>{edge}</li>}
        <li><Sign><circle class="mm-dot" cx="7" cy="10" r="3.500" /><circle class="mm-dot mm-ring" cx="21" cy="10" r="7" /></Sign>a point; with a ring it is a support vector, and its area is its α</li>
        <li><Sign><rect class="mm-at-bound" x="8" y="2" width="16" height="16" rx="1.500" /></Sign>its α is the most it may be{isClassifier && fit.kind === "svc" ? ", C" : ""}</li>
        <li><Sign><g class="mm-slack"><path d="M3 17 29 3" /></g></Sign>from a point that pays to where it would pay nothing</li>
        <li><Sign><g class="mm-pair"><path d="M8 10H24" class="mm-pair-line" /><circle cx="6" cy="10" r="5" /><circle cx="26" cy="10" r="5" /></g></Sign>the two points that moved in this step</li>
      </ul>
    </details>
  );
}

const Sign = ({ children }: { children: preact.ComponentChildren }) => (
  <svg viewBox="0 0 32 20" width="32" height="20" aria-hidden="true">{children}</svg>
);

function useKeys(store: Store, root: { current: HTMLDivElement | null }) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const path = event.composedPath(); // which leads into a shadow tree, as marimo's
      const target = path[0] as HTMLElement;
      const isOwn = store.options.hasLink || store.options.isRecorded || path.includes(root.current!);
      if (!isOwn || event.defaultPrevented) return;
      const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && (target as HTMLInputElement).type !== "range";
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !isTyping) {
        if (event.shiftKey) store.redo();
        else store.undo();
        event.preventDefault();
        return;
      }
      if (isTyping || target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
      const k = store.k.value;
      const keys: Record<string, () => void> = {
        ArrowRight: () => store.goTo(k + 1),
        ArrowLeft: () => store.goTo(k - 1),
        Home: () => store.goTo(0),
        End: () => store.goTo(store.settled.value?.nSteps ?? 0),
        p: () => (store.playing.value ? store.pause() : store.play()),
        P: () => (store.playing.value ? store.pause() : store.play()),
      };
      if (!keys[event.key]) return;
      keys[event.key]();
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [store]);
}
