// A fit of the library, and where its solver stood after any number of steps.
//
// Coefficients are replayed from the steps that Python wrote down, so they are its own to the last
// bit; f is their sum over kernel columns that Python computed. Nothing is fitted here.

import type { Numbers, Reply } from "./wire";
import type { Box } from "./state";

export type Grid = { view: Box; nx: number; ny: number };
export type Machine = { classes: [number, number] | null; b: number; start_b: number; start_spread: number };

/** A row of the table of steps. */
export type Step = {
  problem: number; i: number; j: number; reason: number; refused: number;
  error_i: number; error_j: number; eta: number; L: number; H: number; unclipped: number;
  clipped: number; alpha_i: number; b: number; spread: number; objective: number; gap: number;
  violation: number;
};

export class Fit {
  readonly n: number;
  readonly kind: string;
  readonly machines: Machine[];
  readonly nSteps: number;
  private columns: Float32Array | null = null;
  private gram: Float64Array | null = null;
  private place: Int32Array; // where the column of a row stands, or -1
  private cursor = 0;
  private variables: Float64Array[];

  constructor(
    readonly reply: Reply,
    readonly grid: Grid,
  ) {
    this.n = reply.header.n;
    this.kind = reply.header.model;
    this.machines = reply.header.machines;
    this.nSteps = this.hasSteps ? this.array("step_i").length : 0;
    this.place = new Int32Array(this.n).fill(-1);
    this.variables = this.machines.map((_, m) => this.startOf(m));
  }

  get header() {
    return this.reply.header;
  }

  get hasSteps(): boolean {
    return this.reply.header.has_steps;
  }

  array(name: string): Numbers {
    return this.reply.arrays[name];
  }

  get isRegression() {
    return this.kind === "svr" || this.kind === "nusvr";
  }

  get isClassifier() {
    return this.kind === "svc" || this.kind === "nusvc";
  }

  x(row: number) {
    return this.array("X")[2 * row];
  }

  y(row: number) {
    return this.array("X")[2 * row + 1];
  }

  // Columns.

  /** The rows that some step moved, or that began above zero, and so need a column. */
  rowsInUse(): number[] {
    const used = new Set<number>();
    this.machines.forEach((_, m) => {
      const rows = this.array(`rows${m}`);
      this.startOf(m).forEach((value, v) => value !== 0 && used.add(rows[v]));
    });
    for (let k = 0; k < this.nSteps; k++) {
      const rows = this.array(`rows${this.array("step_problem")[k]}`);
      used.add(rows[this.array("step_i")[k]]).add(rows[this.array("step_j")[k]]);
    }
    const coef = this.array("coef");
    for (let k = 0; k < coef.length; k++) if (coef[k] !== 0) used.add(k % this.n);
    return [...used].sort((a, b) => a - b);
  }

  takeColumns(reply: Reply) {
    this.columns = reply.arrays.columns as Float32Array;
    this.gram = reply.arrays.gram as Float64Array;
    reply.header.rows.forEach((row: number, k: number) => (this.place[row] = k));
  }

  get hasColumns() {
    return this.columns !== null;
  }

  // Steps.

  step(k: number): Step {
    const names = [
      "problem", "i", "j", "reason", "refused", "error_i", "error_j", "eta", "L", "H", "unclipped",
      "clipped", "alpha_i", "b", "spread", "objective", "gap", "violation",
    ];
    return Object.fromEntries(names.map((name) => [name, this.array(`step_${name}`)[k]])) as Step;
  }

  private startOf(m: number): Float64Array {
    const start = this.array(`start${m}`) as Float64Array | undefined;
    return start ? start.slice() : new Float64Array(this.array(`rows${m}`).length);
  }

  /** The machine that the solver worked on last. */
  machineAt(k: number): number {
    if (this.nSteps === 0) return 0;
    return this.array("step_problem")[Math.max(0, Math.min(k, this.nSteps) - 1)];
  }

  /** The signed variables of every machine after k steps. */
  variablesAt(k: number): Float64Array[] {
    if (k < this.cursor) {
      this.cursor = 0;
      this.variables = this.machines.map((_, m) => this.startOf(m));
    }
    for (; this.cursor < k; this.cursor++) {
      const m = this.array("step_problem")[this.cursor];
      const turn = this.array(`turn${m}`);
      const i = this.array("step_i")[this.cursor];
      const j = this.array("step_j")[this.cursor];
      this.variables[m][i] = turn[i] * this.array("step_alpha_i")[this.cursor];
      this.variables[m][j] = turn[j] * this.array("step_clipped")[this.cursor];
    }
    return this.variables;
  }

  /** Whether k is where the model is: then its own numbers are shown, not the last step's. */
  isEnd(k: number) {
    return k >= this.nSteps;
  }

  /** The signed coefficient of every row in a machine after k steps, in the units of the model. */
  coefAt(k: number, m: number): Float64Array {
    if (this.isEnd(k)) return (this.array("coef") as Float64Array).slice(m * this.n, (m + 1) * this.n);
    const found = new Float64Array(this.n);
    const rows = this.array(`rows${m}`);
    const scale = 1 / this.unitAt(k, m);
    this.variablesAt(k)[m].forEach((value, v) => (found[rows[v]] += scale * value));
    return found;
  }

  /** A nu classifier's margin rho, by which its solution is divided; one for the others. */
  unitAt(k: number, m: number): number {
    const spread = this.spreadAt(k, m);
    return this.kind === "nusvc" && spread > 0 ? spread : 1;
  }

  private lastStepOf(k: number, m: number): number {
    const problem = this.nSteps ? this.array("step_problem") : [];
    for (let at = Math.min(k, this.nSteps) - 1; at >= 0; at--) if (problem[at] === m) return at;
    return -1;
  }

  spreadAt(k: number, m: number): number {
    const at = this.lastStepOf(k, m);
    return at < 0 ? this.machines[m].start_spread : this.array("step_spread")[at];
  }

  biasAt(k: number, m: number): number {
    if (this.isEnd(k)) return this.machines[m].b;
    const at = this.lastStepOf(k, m);
    const b = at < 0 ? this.machines[m].start_b : this.array("step_b")[at];
    return b / this.unitAt(k, m);
  }

  /** Half the width of the tube of a regression. */
  tubeAt(k: number, epsilon: number): number {
    return this.kind === "nusvr" ? Math.max(0, -this.spreadAt(k, 0)) : epsilon;
  }

  /** f on the grid after k steps, or null before the columns are there. */
  fieldAt(k: number, m: number): Float64Array | Float32Array | null {
    const cells = this.isRegression ? this.grid.nx : this.grid.nx * this.grid.ny;
    const field = this.array("field") as Float32Array;
    if (this.isEnd(k) && field) return field.subarray(m * cells, (m + 1) * cells);
    if (!this.columns) return null;
    const found = new Float64Array(cells).fill(this.biasAt(k, m));
    this.coefAt(k, m).forEach((c, row) => {
      if (c === 0) return;
      const at = this.place[row] * cells;
      for (let cell = 0; cell < cells; cell++) found[cell] += c * this.columns![at + cell];
    });
    return found;
  }

  /** f at every point after k steps. */
  decisionAt(k: number, m: number): Float64Array {
    if (this.isEnd(k) || !this.gram) {
      const decision = this.array("decision");
      const width = this.machines.length;
      return Float64Array.from({ length: this.n }, (_, row) => decision[row * width + m]);
    }
    const found = new Float64Array(this.n).fill(this.biasAt(k, m));
    this.coefAt(k, m).forEach((c, row) => {
      if (c === 0) return;
      const at = this.place[row] * this.n;
      for (let other = 0; other < this.n; other++) found[other] += c * this.gram![at + other];
    });
    return found;
  }

  /** How full the box of every row is, from 0 to 1: in one machine, or in the one where it is fullest. */
  fullness(k: number, m: number | null): Float64Array {
    const found = new Float64Array(this.n);
    if (!this.hasSteps) {
      const [coef, bound] = [this.array("coef"), this.array("bound")];
      for (let at = 0; at < coef.length; at++) {
        if (m !== null && Math.floor(at / this.n) !== m) continue;
        found[at % this.n] = Math.max(found[at % this.n], Math.abs(coef[at]) / bound[at % this.n]);
      }
      return found;
    }
    this.machines.forEach((_, own) => {
      if (m !== null && own !== m) return;
      const rows = this.array(`rows${own}`);
      const box = this.array(`box${own}`);
      this.variablesAt(Math.min(k, this.nSteps))[own].forEach((value, v) => {
        found[rows[v]] = Math.max(found[rows[v]], Math.abs(value) / box[v]);
      });
    });
    return found;
  }

  /** The two classes of a machine in words, where there are several machines. */
  nameOf(m: number): string {
    const classes = this.machines[m].classes;
    if (this.machines.length < 2 || !classes) return "";
    return `class ${classes.map((label) => this.header.classes[label]).join(" against ")}`;
  }

  /** What a point lacks, in the units of f: to its margin, to its tube, or to the region. */
  slackAt(k: number, m: number, row: number, tube: number): number {
    const f = this.decisionAt(k, m)[row];
    if (this.isRegression) return Math.max(0, Math.abs(this.y(row) - f) - tube);
    return Math.max(0, (this.isClassifier ? 1 : 0) - this.signs(m)[row] * f);
  }

  /** The sign of a row's label in a machine, or 0 where the machine does not use it. */
  signs(m: number): Float64Array {
    const found = new Float64Array(this.n);
    const rows = this.array(`rows${m}`);
    this.array(`sign${m}`).forEach((sign, v) => (found[rows[v]] = this.isClassifier ? sign : 1));
    return found;
  }
}
