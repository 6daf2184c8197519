// The one place where the page remembers: state, fit, the step that is shown, and undo.

import { batch, computed, effect, signal } from "@preact/signals";
import { Fit, type Grid } from "./fit";
import { initial, isRegression, linkOf, placeOf, stateOf, within } from "./state";
import { ANY_MACHINE, MOST, TENTHS, type Box, type Named, type Own, type Place, type State } from "./state";
import type { Ask, Reply } from "./wire";
import { LESSONS } from "./lessons";
import { followTheme } from "./theme";
import { short } from "./words";

export const ASPECT = 4 / 3;
const CELLS = 96; // across the plane; a step shows within a frame or two
const CELLS_WHILE_DRAGGING = 64;
const CELLS_OF_CURVE = 128;
const MOST_UNDO = 100;
const AROUND = 0.14; // of the points' extent, left free on each side
const MOST_STRETCH = 4; // Beyond it the axes are of different units, and the plane is stretched.
const PLAY_MILLISECONDS = 350;
const REST_MILLISECONDS = 150; // after the last step, before Python is asked about it

export class Store {
  readonly state = signal<State>(initial());
  readonly fit = signal<Fit | null>(null); // what the plane shows, also while a point is dragged,
  readonly settled = signal<Fit | null>(null); // and what the other screens show, when it has settled
  readonly error = signal("");
  readonly busy = signal(false);
  readonly waking = signal(true);
  readonly selected = signal(-1);
  readonly newClass = signal(0);
  readonly playing = signal(false);
  readonly word = signal<Reply | null>(null); // of Python, on the step that is shown
  readonly past = signal<State[]>([]);
  readonly future = signal<State[]>([]);
  readonly systemDark = signal(false);
  readonly isDark = computed(() =>
    this.state.value.theme ? this.state.value.theme === "dark" : this.systemDark.value,
  );
  readonly k = computed(() => {
    const steps = this.settled.value?.nSteps ?? 0;
    const wanted = this.state.value.step;
    return wanted < 0 ? steps : Math.min(wanted, steps);
  });
  readonly machine = computed(() => this.settled.value?.machineAt(this.k.value) ?? 0);

  private inFlight = false;
  private wanted: "drag" | "full" | null = null;
  private isDragging = false;
  private dragged: { row: number; x: number; y: number } | null = null;
  private stops: (() => void)[] = [];
  private timer = 0;
  private known: { key: string; view: Box } = { key: "", view: [-1, 1, -1, 1] };

  constructor(
    readonly ask: Ask,
    readonly options: { hasLink: boolean; isRecorded?: boolean; grid?: Grid },
    start?: State,
  ) {
    this.state.value = start ?? (options.hasLink ? stateOf(location.hash) : initial());
    this.stops.push(followTheme((isDark) => (this.systemDark.value = isDark)));
    if (options.hasLink) {
      this.stops.push(effect(() => this.writeLink(linkOf(this.state.value))));
      const onHash = () => this.followLink();
      addEventListener("hashchange", onHash);
      this.stops.push(() => removeEventListener("hashchange", onHash));
    }
    this.stops.push(effect(() => this.askForWord(this.k.value, this.settled.value)));
    this.refit("full");
  }

  end() {
    this.stops.forEach((stop) => stop());
    this.pause();
  }

  /** Not while a point is dragged: a browser fetches its icon again for every new address. */
  private writeLink(link: string) {
    if (!this.isDragging && link !== location.hash) history.replaceState(null, "", link);
  }

  private followLink() {
    const state = stateOf(location.hash);
    if (linkOf(state) === linkOf(this.state.peek())) return;
    this.remember();
    this.state.value = state;
    this.refit("full");
  }

  // Changes.

  private remember() {
    this.past.value = [...this.past.value, this.state.peek()].slice(-MOST_UNDO);
    this.future.value = [];
  }

  /** Change what is fitted: it can be undone, and begins at the end again. */
  change(part: Partial<State>) {
    this.remember();
    this.state.value = { ...this.state.value, step: -1, ...part };
    this.refit("full");
  }

  setModel(part: Partial<State["model"]>) {
    const model = { ...this.state.value.model, ...part };
    const solver = this.state.value.solver;
    const fits = model.name === "svc" || ANY_MACHINE.includes(solver);
    const data = this.state.value.data;
    const toWave = part.name && isRegression({ ...this.state.value, model }) && data.name !== "points";
    this.change({
      model,
      solver: fits ? solver : "smo_steps",
      data: toWave ? { ...(data as Named), name: "wave" } : data,
    });
  }

  /** What only changes the view is not worth an undo. */
  show(part: Partial<State>) {
    this.state.value = { ...this.state.value, ...part };
  }

  undo() {
    const before = this.past.value.at(-1);
    if (!before) return;
    this.past.value = this.past.value.slice(0, -1);
    this.future.value = [...this.future.value, this.state.value];
    this.restore(before);
  }

  redo() {
    const after = this.future.value.at(-1);
    if (!after) return;
    this.future.value = this.future.value.slice(0, -1);
    this.past.value = [...this.past.value, this.state.value];
    this.restore(after);
  }

  private restore(state: State) {
    this.state.value = state;
    this.selected.value = -1;
    this.refit("full");
  }

  openLesson(number: number) {
    this.remember();
    const theme = this.state.value.theme;
    this.state.value = number ? { ...stateOf(LESSONS[number - 1].link), lesson: number, theme } : { ...initial(), theme };
    this.selected.value = -1;
    this.refit("full");
  }

  // Points.

  /** The points as one's own, on the grid of 16 bits in what is seen of the plane. */
  own(): Own {
    const data = this.state.value.data;
    if (data.name === "points") return data as Own;
    const fit = this.fit.value!;
    const box = this.view.value;
    const label = fit.array("label");
    const weight = fit.array("weight");
    const points = Array.from({ length: fit.n }, (_, row): Place => [
      ...placeOf(box, fit.x(row), fit.y(row)),
      label[row],
      Math.round(weight[row] * TENTHS),
    ]);
    return { name: "points", box, points };
  }

  addPoint(x: number, y: number) {
    const own = this.own();
    const place: Place = [...placeOf(own.box, x, y), this.newClass.value, TENTHS];
    this.change({ data: { ...own, points: [...own.points, place] } });
    this.selected.value = own.points.length;
  }

  removePoint(row: number) {
    const own = this.own();
    this.selected.value = -1;
    this.change({ data: { ...own, points: own.points.filter((_, k) => k !== row) } });
  }

  editPoint(row: number, edit: (place: Place) => Place) {
    const own = this.own();
    this.change({ data: { ...own, points: own.points.map((one, k) => (k === row ? edit(one) : one)) } });
  }

  beginDrag() {
    this.isDragging = true;
    this.remember();
    this.state.value = { ...this.state.value, step: -1, data: this.own() };
  }

  /** The point is shown where it was dragged to with the fit that knows it there. */
  drag(row: number, x: number, y: number) {
    this.dragged = { row, x, y };
    this.refit("drag");
  }

  private withDragged(): Own {
    const own = this.state.peek().data as Own;
    if (!this.dragged) return own;
    const { row, x, y } = this.dragged;
    const [px, py] = placeOf(own.box, x, y);
    return { ...own, points: own.points.map((one, k): Place => (k === row ? [px, py, one[2], one[3]] : one)) };
  }

  endDrag() {
    this.state.value = { ...this.state.value, data: this.withDragged() };
    this.isDragging = false;
    this.dragged = null;
    if (this.options.hasLink) this.writeLink(linkOf(this.state.value));
    this.refit("full");
  }

  movePoint(row: number, dx: number, dy: number) {
    this.editPoint(row, ([x, y, label, weight]) => [
      within(Math.round(x + dx * MOST), 0, MOST),
      within(Math.round(y + dy * MOST), 0, MOST),
      label,
      weight,
    ]);
  }

  async takeCsv(text: string) {
    try {
      const { header } = await this.ask({ ask: "csv", text });
      const name = header.is_regression ? "svr" : header.labels.length < 2 ? "one_class" : "svc";
      const points = header.points as Place[];
      const many = points.length > 400;
      this.change({
        data: { name: "points", box: header.box, points },
        model: { ...this.state.value.model, name },
        solver: many ? "smo" : name === "svc" ? this.state.value.solver : "smo_steps",
        lesson: 0,
        hide: [],
      });
    } catch (error) {
      this.error.value = (error as Error).message;
    }
  }

  // The view of the plane.

  readonly view = computed<Box>(() => {
    const data = this.state.value.data;
    if (data.name === "points") return (data as Own).box;
    const fit = this.fit.value;
    return fit ? fit.grid.view : [-1, 1, -1, 1];
  });

  private viewOf(reply: Reply): Box {
    const X = reply.arrays.X;
    const ends: Box = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < X.length; at += 2) {
      ends[0] = Math.min(ends[0], X[at]);
      ends[1] = Math.max(ends[1], X[at]);
      ends[2] = Math.min(ends[2], X[at + 1]);
      ends[3] = Math.max(ends[3], X[at + 1]);
    }
    const grown = (low: number, high: number) => {
      const more = AROUND * (high - low || 1);
      return [low - more, high + more];
    };
    const [left, right] = grown(ends[0], ends[1]);
    const [bottom, top] = grown(ends[2], ends[3]);
    const ratio = (right - left) / (top - bottom) / ASPECT;
    if (isRegression(this.state.peek()) || ratio > MOST_STRETCH || ratio < 1 / MOST_STRETCH) {
      return [left, right, bottom, top];
    }
    const width = Math.max(right - left, (top - bottom) * ASPECT);
    const height = width / ASPECT;
    const [x, y] = [(left + right) / 2, (bottom + top) / 2];
    return [x - width / 2, x + width / 2, y - height / 2, y + height / 2];
  }

  private gridOf(view: Box, cells: number): Grid {
    if (isRegression(this.state.peek())) return { view, nx: CELLS_OF_CURVE, ny: 1 };
    return { view, nx: cells, ny: Math.round(cells / ASPECT) };
  }

  // Fits.

  spec() {
    const { data, model, solver } = this.state.peek();
    return { data, model, solver };
  }

  /** Fit what the state says; of several wishes while one is under way, the last is granted. */
  refit(how: "drag" | "full") {
    this.wanted = how;
    if (!this.inFlight) void this.work();
  }

  private async work() {
    this.inFlight = this.busy.value = true;
    while (this.wanted) {
      const how = this.wanted;
      this.wanted = null;
      try {
        await (how === "drag" ? this.fitWhileDragging() : this.fitInFull());
        this.error.value = "";
      } catch (error) {
        this.error.value = (error as Error).message;
      }
      this.waking.value = false;
    }
    this.inFlight = this.busy.value = false;
  }

  /** The fast solver, which needs a few milliseconds: only its end is shown until one lets go. */
  private async fitWhileDragging() {
    const data = this.withDragged();
    const grid = this.gridOf(data.box, CELLS_WHILE_DRAGGING);
    const fit = new Fit(await this.ask({ ask: "fit", ...this.spec(), data, solver: "smo", grid }), grid);
    batch(() => {
      if (this.isDragging) this.state.value = { ...this.state.value, data };
      this.fit.value = fit;
    });
  }

  private async fitInFull() {
    const spec = this.spec();
    const grid = this.options.grid ?? this.gridOf(await this.viewFor(spec.data), CELLS);
    const fit = new Fit(await this.ask({ ask: "fit", ...spec, grid }), grid);
    if (fit.hasSteps) {
      fit.takeColumns(await this.ask({ ask: "columns", ...spec, grid, rows: fit.rowsInUse() }));
    }
    if (this.wanted === "drag") return;
    batch(() => (this.fit.value = this.settled.value = fit));
  }

  /** Of a data set that is new, the first fit tells where its points are. */
  private async viewFor(data: State["data"]): Promise<Box> {
    if (data.name === "points") return (data as Own).box;
    const key = JSON.stringify([data, isRegression(this.state.peek())]);
    if (key !== this.known.key) {
      this.known = { key, view: this.viewOf(await this.ask({ ask: "fit", ...this.spec() })) };
    }
    return this.known.view;
  }

  private askForWord(k: number, fit: Fit | null) {
    clearTimeout(this.timer);
    this.word.value = null;
    if (!fit?.hasSteps) return;
    const spec = this.spec();
    this.timer = window.setTimeout(async () => {
      try {
        const reply = await this.ask({ ask: "at", ...spec, step: k });
        if (this.settled.peek() === fit && this.k.peek() === k) this.word.value = reply;
      } catch {
        this.word.value = null; // a recorded figure holds some steps only
      }
    }, REST_MILLISECONDS);
  }

  // For those who look behind the page.

  readonly linkTo = linkOf;
  readonly short = short;

  // Steps.

  goTo(k: number) {
    const most = this.settled.value?.nSteps ?? 0;
    const step = within(k, 0, most);
    this.show({ step: step === most ? -1 : step });
  }

  play() {
    if (!this.settled.value?.nSteps) return;
    if (this.k.value >= this.settled.value.nSteps) this.goTo(0);
    this.playing.value = true;
    const tick = () => {
      if (!this.playing.value) return;
      const most = this.settled.value?.nSteps ?? 0;
      this.goTo(this.k.value + Math.max(1, Math.floor(most / 200)));
      if (this.k.value >= most) this.pause();
      else window.setTimeout(tick, PLAY_MILLISECONDS);
    };
    window.setTimeout(tick, PLAY_MILLISECONDS);
  }

  pause() {
    this.playing.value = false;
  }
}
