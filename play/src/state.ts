// What the page shows, as plain values, and the link that holds all of it.

export type Box = [number, number, number, number];
/** Two places of 16 bits in the box, a class, and a weight in tenths. */
export type Place = [number, number, number, number];
export type Named = { name: string; n: number; noise: number; seed: number };
export type Own = { name: "points"; box: Box; points: Place[] };
export type Data = Named | Own;
export type Model = {
  name: string;
  C: number;
  nu: number;
  epsilon: number;
  kernel: string;
  gamma: number | "scale";
  degree: number;
  coef0: number;
  tol: number;
};
export type State = {
  data: Data;
  model: Model;
  solver: string;
  step: number; // -1 is the end, wherever that is
  view: string;
  lesson: number; // 0 is none
  theme: string;
  hide: string[];
};

export const VERSION = "1";
export const MOST = 65535;
export const TENTHS = 10;
const BYTES_OF_POINT = 7;

export const MODELS: Record<string, string> = {
  svc: "SVC",
  nusvc: "NuSVC",
  svr: "SVR",
  nusvr: "NuSVR",
  one_class: "OneClassSVM",
};
export const KERNELS: Record<string, string> = {
  linear: "linear",
  poly: "polynomial",
  rbf: "Gaussian (rbf)",
  laplacian: "Laplacian",
  sigmoid: "sigmoid",
};
export const SOLVERS: Record<string, string> = {
  smo_steps: "SMO, second order",
  first_order: "SMO, first order",
  smo_platt: "Platt's SMO",
  smo_simplified: "Simplified SMO",
  smo_random_pair: "Random pairs",
  smo_pairs: "Textbook pairs",
  coordinate_ascent: "Coordinate ascent",
  smo: "Block SMO, no steps",
};
export const ANY_MACHINE = ["smo_steps", "first_order", "smo"];
export const DATA_SETS: Record<string, string> = {
  moons: "Two moons",
  circles: "Circles",
  xnor: "XNOR",
  mixture: "Mixture",
  separable: "Separable",
  outlier: "An outlier",
  three: "Three classes",
  wave: "A wave",
};
export const WITHOUT_NOISE = ["separable", "outlier"];
export const SCREENS = ["plane", "step", "curves", "kkt", "gram", "compare", "points", "code"];

export function initial(): State {
  return {
    data: { name: "moons", n: 40, noise: 0.15, seed: 0 },
    model: {
      name: "svc", C: 1, nu: 0.3, epsilon: 0.2, kernel: "rbf", gamma: "scale", degree: 3, coef0: 0,
      tol: 0.001,
    },
    solver: "smo_steps",
    step: -1,
    view: "plane",
    lesson: 0,
    theme: "",
    hide: [],
  };
}

export const isRegression = (state: State) => ["svr", "nusvr"].includes(state.model.name);

// The link.

const PLAIN: (keyof Model)[] = ["C", "nu", "epsilon", "kernel", "gamma", "degree", "coef0", "tol"];

export function linkOf(state: State): string {
  const first = initial();
  const out = new URLSearchParams({ v: VERSION });
  if (state.data.name === "points") {
    const own = state.data as Own;
    out.set("data", "points");
    out.set("box", own.box.join(","));
    out.set("p", packed(own.points));
  } else {
    for (const [key, value] of Object.entries(state.data)) out.set(key === "name" ? "data" : key, `${value}`);
  }
  if (state.model.name !== first.model.name) out.set("model", state.model.name);
  for (const key of PLAIN) {
    if (state.model[key] !== first.model[key]) out.set(key, `${state.model[key]}`);
  }
  if (state.solver !== first.solver) out.set("solver", state.solver);
  if (state.step >= 0) out.set("step", `${state.step}`);
  if (state.view !== first.view) out.set("view", state.view);
  if (state.lesson) out.set("lesson", `${state.lesson}`);
  if (state.theme) out.set("theme", state.theme);
  if (state.hide.length) out.set("hide", state.hide.join(","));
  return `#${out}`;
}

/** The state of a link. What the page does not know keeps its default; Python checks the rest. */
export function stateOf(hash: string): State {
  const state = initial();
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  if (given.get("v") !== VERSION) return state;
  const data = given.get("data") ?? "moons";
  if (data === "points") {
    const box = (given.get("box") ?? "").split(",").map(Number) as Box;
    state.data = { name: "points", box, points: unpackedPoints(given.get("p") ?? "") };
  } else {
    const named = state.data as Named;
    state.data = {
      name: data,
      n: numberOf(given.get("n"), named.n),
      noise: numberOf(given.get("noise"), named.noise),
      seed: numberOf(given.get("seed"), named.seed),
    };
  }
  state.model.name = given.get("model") ?? state.model.name;
  for (const key of PLAIN) {
    const value = given.get(key);
    if (value !== null) (state.model as any)[key] = key === "kernel" || value === "scale" ? value : Number(value);
  }
  state.solver = given.get("solver") ?? state.solver;
  state.step = numberOf(given.get("step"), -1);
  state.view = SCREENS.includes(given.get("view") ?? "") ? given.get("view")! : "plane";
  state.lesson = numberOf(given.get("lesson"), 0);
  state.theme = ["dark", "light"].includes(given.get("theme") ?? "") ? given.get("theme")! : "";
  state.hide = (given.get("hide") ?? "").split(",").filter(Boolean);
  return state;
}

function numberOf(text: string | null, otherwise: number): number {
  return text === null || text === "" || Number.isNaN(Number(text)) ? otherwise : Number(text);
}

function packed(points: Place[]): string {
  const bytes = new Uint8Array(points.length * BYTES_OF_POINT);
  const into = new DataView(bytes.buffer);
  points.forEach(([x, y, label, weight], k) => {
    into.setUint16(k * BYTES_OF_POINT, x);
    into.setUint16(k * BYTES_OF_POINT + 2, y);
    into.setUint8(k * BYTES_OF_POINT + 4, label);
    into.setUint16(k * BYTES_OF_POINT + 5, weight);
  });
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function unpackedPoints(text: string): Place[] {
  try {
    const letters = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    const from = new DataView(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)).buffer);
    const count = Math.floor(letters.length / BYTES_OF_POINT);
    return Array.from({ length: count }, (_, k) => {
      const at = k * BYTES_OF_POINT;
      return [from.getUint16(at), from.getUint16(at + 2), from.getUint8(at + 4), from.getUint16(at + 5)];
    });
  } catch {
    return [];
  }
}

export const within = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** The place of 16 bits that is nearest to a point of the plane. */
export function placeOf(box: Box, x: number, y: number): [number, number] {
  const near = (value: number, low: number, high: number) =>
    Math.round(within((value - low) / (high - low), 0, 1) * MOST);
  return [near(x, box[0], box[1]), near(y, box[2], box[3])];
}
