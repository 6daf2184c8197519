// Numbers as a reader wants them, and one sentence for every step.

import type { Fit } from "./fit";

export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e5) return `${value}`.replace("-", "−");
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  const text = size >= 100 ? value.toFixed(1) : size >= 1 ? value.toFixed(3) : value.toFixed(4);
  return text.replace("-", "−");
}

/** A number that somebody chose, which needs no zeros behind it. */
export const plainly = (value: number) => `${Number(value.toPrecision(3))}`.replace("-", "−");

/** A place on the plane, in a column of its own. */
export const placed = (value: number) => (Math.abs(value) < 100 ? value.toFixed(3) : plainly(value)).replace("-", "−");

const LETTERS: [RegExp, string][] = [
  [/\balpha/g, "α"], [/\bxi(?=_)/g, "ξ"], [/\bphi\b/g, "φ"], [/\bepsilon\b/g, "ε"], [/\brho\b/g, "ρ"], [/\bnu\b/g, "ν"],
  [/\bsum\b/g, "Σ"], [/_i\b/g, "ᵢ"], [/>=/g, "≥"], [/<=/g, "≤"], [/ - /g, " − "],
  [/ (?=[≥≤=−])|(?<=[≥≤=−Σᵢ]) (?=[\dαyfφξεCρν(])/g, "\u00a0"],
];

/** The library writes its formulas for a terminal; a page has the letters. */
export const withLetters = (words: string) => LETTERS.reduce((text, [found, letter]) => text.replace(found, letter), words);

const capital = (text: string) => text[0].toUpperCase() + text.slice(1);

/** What happened in the step that led to k, and why these two. */
export function sentenceOf(fit: Fit, k: number): string {
  if (!fit.hasSteps) {
    return `Block SMO moved thousands of pairs a second and kept no single steps: ${fit.header.n_support} of ${fit.n} points became support vectors. Choose another solver to go step by step.`;
  }
  if (fit.nSteps === 0) return "There was nothing to do: the first point is optimal already.";
  if (k === 0) return opening(fit);
  const step = fit.step(k - 1);
  const rows = fit.array(`rows${step.problem}`);
  const [i, j] = [rows[step.i] + 1, rows[step.j] + 1];
  const reason = fit.header.reasons[step.reason].replace(/\bi\b/g, `point ${i}`).replace(/\bj\b/g, `point ${j}`);
  const parts = [`Points ${i} and ${j} move, because ${reason}.`, `${capital(movement(fit, k, j))}.`];
  if (step.refused) parts.push(`${step.refused} other pair${step.refused > 1 ? "s were" : " was"} tried first and could not move.`);
  if (k === fit.nSteps) parts.push(ending(fit));
  return parts.join(" ");
}

function opening(fit: Fit): string {
  if (fit.kind === "svc" || fit.kind === "svr") {
    return "Before the first step every multiplier is zero, so f is the same everywhere. Press → to let the solver move its first pair.";
  }
  return "The sums of this machine's multipliers are fixed, so it begins with the first points filled up, wherever they are. Press → to let the solver move its first pair.";
}

function movement(fit: Fit, k: number, j: number): string {
  const step = fit.step(k - 1);
  const turn = fit.array(`turn${step.problem}`);
  const before = turn[step.j] * fit.variablesAt(k - 1)[step.problem][step.j];
  const moved = `the α of point ${j} goes from ${short(before)} to ${short(step.clipped)}`;
  const off = Math.abs(step.unclipped - step.clipped);
  if (off <= 1e-9 * Math.max(1, Math.abs(step.unclipped))) return `${moved}, the top of the parabola`;
  const end = Math.abs(step.clipped - step.L) < Math.abs(step.clipped - step.H) ? "L" : "H";
  return `${moved}, cut off at ${end}: the top of the parabola lies at ${short(step.unclipped)}, outside the box`;
}

function ending(fit: Fit): string {
  const { certificate, converged } = fit.header;
  if (!converged) return "The solver stopped before it was optimal.";
  return `No pair violates optimality by more than ${certificate.tol}: the fit is done, and the gap of ${short(certificate.duality_gap)} proves it.`;
}
