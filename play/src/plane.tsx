// The plane: decision values, their contours, and the points, which can be added, moved and taken
// away. A regression has one feature, so its plane shows a curve with its tube.

import { contours } from "d3-contour";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { colourOf, marker, regionTint, tints } from "./colours";
import type { Fit } from "./fit";
import { ASPECT, type Store } from "./store";
import type { Box } from "./state";
import { useWidth } from "./width";
import { short } from "./words";

const LEAST = 4.2; // the radius of a point without a multiplier,
const MOST = 5.6; // and what the largest multiplier adds to it
const WIDE = 520; // A plane of so many pixels has marks of full size,
const CROWD = 120; // and so has one with so many points.
const SMALLEST = 0.68; // of the full size, which can still be told apart
const TOUCH = 22; // half of 44 px, which a finger can hit
const MOUSE = 12;
const MOVE = 0.01; // of the plane, by an arrow key
const LEAST_DRAG = 4; // pixels before a press becomes a drag
const MOST_PATHS = 60; // slack lines; more would be a thicket
const FINER = 4; // Regions of classes have edges, so they are painted in cells so much smaller.
const AT_BOUND = 1 - 1e-9;

type Frame = { width: number; height: number; view: Box };

const toX = (frame: Frame, x: number) =>
  ((x - frame.view[0]) / (frame.view[1] - frame.view[0])) * frame.width;
const toY = (frame: Frame, y: number) =>
  ((frame.view[3] - y) / (frame.view[3] - frame.view[2])) * frame.height;
const fromX = (frame: Frame, x: number) =>
  frame.view[0] + (x / frame.width) * (frame.view[1] - frame.view[0]);
const fromY = (frame: Frame, y: number) =>
  frame.view[3] - (y / frame.height) * (frame.view[3] - frame.view[2]);

export function Plane({ store }: { store: Store }) {
  const [holder, width] = useWidth(640, 200);
  const frame = { width, height: Math.round(width / ASPECT), view: store.view.value };
  const fit = store.fit.value;
  return (
    <div class="mm-plane" ref={holder} data-busy={store.busy.value || undefined}>
      {fit ? <Drawn store={store} fit={fit} frame={frame} /> : <div class="mm-empty" />}
      {store.waking.value && <p class="mm-waking">The library is waking up. The first time on a machine it compiles itself, which takes a minute.</p>}
    </div>
  );
}

function Drawn({ store, fit, frame }: { store: Store; fit: Fit; frame: Frame }) {
  const k = store.k.value;
  const m = Math.min(store.machine.value, fit.machines.length - 1);
  const dark = store.isDark.value;
  const many = fit.machines.length > 1 && fit.isEnd(k);
  const fields = useMemo(
    () => fit.machines.map((_, own) => (many || own === m ? fit.fieldAt(k, own) : null)),
    [fit, k, m, many, fit.hasColumns],
  );
  const pointer = usePointer(store, fit, frame);
  return (
    <>
      <Field fit={fit} fields={fields} m={m} many={many} dark={dark} />
      <svg
        class="mm-over"
        viewBox={`0 0 ${frame.width} ${frame.height}`}
        width={frame.width}
        height={frame.height}
        role="group"
        aria-label={labelOf(fit)}
        {...pointer}
      >
        {fit.isRegression ? (
          <Curve fit={fit} field={fields[0]} frame={frame} tube={fit.tubeAt(k, store.state.value.model.epsilon)} />
        ) : (
          !many && <Levels fit={fit} field={fields[m]} frame={frame} />
        )}
        <Slack fit={fit} k={k} m={m} frame={frame} field={fields[m]} many={many} tube={fit.tubeAt(k, store.state.value.model.epsilon)} />
        {store.state.value.step >= 0 && <Pair fit={fit} k={k} frame={frame} size={sizeOf(fit, frame)} />}
        <Points store={store} fit={fit} frame={frame} k={k} m={m} many={many} />
      </svg>
    </>
  );
}

const labelOf = (fit: Fit) =>
  `The plane with ${fit.n} points. Click to add a point, drag to move one; with Tab you reach the points, and arrow keys move them.`;

// The decision field.

function Field(props: { fit: Fit; fields: (ArrayLike<number> | null)[]; m: number; many: boolean; dark: boolean }) {
  const { fit, fields, m, many, dark } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const finer = many ? FINER : 1;
  const [nx, ny] = [finer * fit.grid.nx, finer * fit.grid.ny];
  useEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    if (fit.isRegression) {
      context.clearRect(0, 0, nx, ny);
      return;
    }
    const image = context.createImageData(nx, ny);
    if (many) paintRegions(image.data, fit, fields as ArrayLike<number>[], dark);
    else if (fields[m]) paintValues(image.data, fit, fields[m]!, m, dark);
    else return;
    context.putImageData(image, 0, 0);
  }, [fit, fields, m, many, dark]);
  return <canvas class="mm-field" ref={canvas} width={nx} height={ny} aria-hidden="true" />;
}

function paintValues(out: Uint8ClampedArray, fit: Fit, field: ArrayLike<number>, m: number, dark: boolean) {
  const { nx, ny } = fit.grid;
  const [positive, negative] = fit.machines[m].classes ?? [0, 5];
  const paint = fit.isClassifier ? tints(negative, positive, dark) : tints(4, 0, dark);
  const unit = fit.isClassifier ? 1 : largest(field) / 2;
  for (let row = 0; row < ny; row++) {
    for (let column = 0; column < nx; column++) {
      paint(field[row * nx + column] / unit, out, 4 * ((ny - 1 - row) * nx + column));
    }
  }
}

function largest(field: ArrayLike<number>) {
  let most = 1e-12;
  for (let cell = 0; cell < field.length; cell++) most = Math.max(most, Math.abs(field[cell]));
  return most;
}

/** Several classes: each cell goes to the class with most votes, as in the library. */
function paintRegions(out: Uint8ClampedArray, fit: Fit, fields: ArrayLike<number>[], dark: boolean) {
  const [nx, ny] = [FINER * fit.grid.nx, FINER * fit.grid.ny];
  const names = fit.header.classes.length;
  const colours = Array.from({ length: names }, (_, label) => regionTint(label, dark));
  const votes = new Int32Array(names);
  for (let cell = 0; cell < nx * ny; cell++) {
    votes.fill(0);
    const u = ((cell % nx) + 0.5) / FINER - 0.5;
    const v = (Math.floor(cell / nx) + 0.5) / FINER - 0.5;
    fit.machines.forEach(({ classes }, m) => votes[classes![between(fit, fields[m], u, v) > 0 ? 0 : 1]]++);
    let winner = 0;
    for (let label = 1; label < names; label++) if (votes[label] > votes[winner]) winner = label;
    const at = 4 * ((ny - 1 - Math.floor(cell / nx)) * nx + (cell % nx));
    out.set(colours[winner], at);
    out[at + 3] = 255;
  }
}

/** f between the middles of four cells. */
function between(fit: Fit, field: ArrayLike<number>, a: number, b: number): number {
  const { nx, ny } = fit.grid;
  const i = Math.max(0, Math.min(nx - 2, Math.floor(a)));
  const j = Math.max(0, Math.min(ny - 2, Math.floor(b)));
  const [s, t] = [a - i, b - j];
  const at = j * nx + i;
  return (1 - t) * ((1 - s) * field[at] + s * field[at + 1]) + t * ((1 - s) * field[at + nx] + s * field[at + nx + 1]);
}

// Lines of equal value.

function Levels({ fit, field, frame }: { fit: Fit; field: ArrayLike<number> | null; frame: Frame }) {
  const paths = useMemo(() => {
    if (!field) return [];
    const levels = fit.isClassifier ? [-1, 0, 1] : [0];
    return levels.map((level) => [level, linesAt(fit, field, level, frame)] as const);
  }, [fit, field, frame.width, frame.height]);
  return (
    <g class="mm-levels" data-levels={paths.length}>
      {paths.map(([level, path]) => (
        <path key={level} d={path} class={level === 0 ? "mm-boundary" : "mm-margin"} />
      ))}
    </g>
  );
}

/** The contour of a level as open lines: where it runs along the frame, it is none. */
export function linesAt(fit: Fit, field: ArrayLike<number>, level: number, frame: Frame): string {
  const { nx, ny } = fit.grid;
  const values = Array.from(field);
  const [shape] = contours().size([nx, ny]).thresholds([level])(values);
  const sx = frame.width / nx;
  const sy = frame.height / ny;
  const onFrame = (a: number[], b: number[]) =>
    (a[0] === b[0] && (a[0] <= 0.5 || a[0] >= nx - 0.5)) || (a[1] === b[1] && (a[1] <= 0.5 || a[1] >= ny - 0.5));
  const outside = ([x, y]: number[]) => x < 0.5 || y < 0.5 || x > nx - 0.5 || y > ny - 0.5;
  let path = "";
  for (const ring of shape.coordinates.flat()) {
    let isDown = false;
    for (let at = 1; at < ring.length; at++) {
      const [a, b] = [ring[at - 1], ring[at]];
      if (onFrame(a, b) || outside(a) || outside(b)) {
        isDown = false;
        continue;
      }
      if (!isDown) path += `M${(a[0] * sx).toFixed(1)} ${((ny - a[1]) * sy).toFixed(1)}`;
      path += `L${(b[0] * sx).toFixed(1)} ${((ny - b[1]) * sy).toFixed(1)}`;
      isDown = true;
    }
  }
  return path;
}

function Curve(props: { fit: Fit; field: ArrayLike<number> | null; frame: Frame; tube: number }) {
  const { fit, field, frame, tube } = props;
  if (!field) return null;
  const at = (k: number) => ((k + 0.5) / fit.grid.nx) * frame.width;
  const line = (shift: number) =>
    Array.from(field, (value, k) => `${k ? "L" : "M"}${at(k).toFixed(1)} ${toY(frame, value + shift).toFixed(1)}`).join("");
  const back = Array.from(field, (value, k) => `L${at(k).toFixed(1)} ${toY(frame, value - tube).toFixed(1)}`).reverse().join("");
  return (
    <g class="mm-levels" data-levels={3}>
      <path d={`${line(tube)}${back}Z`} class="mm-tube" />
      <path d={line(tube)} class="mm-margin" />
      <path d={line(-tube)} class="mm-margin" />
      <path d={line(0)} class="mm-boundary" />
    </g>
  );
}

// Slack: from a point that is too near to where it ought to be.

function Slack(props: {
  fit: Fit; k: number; m: number; frame: Frame; field: ArrayLike<number> | null; many: boolean; tube: number;
}) {
  const { fit, k, m, frame, field, many, tube } = props;
  const lines = useMemo(() => {
    if (many || !field) return [];
    const f = fit.decisionAt(k, m);
    const coef = fit.coefAt(k, m);
    const signs = fit.signs(m);
    const rows = Array.from(coef.keys()).filter((row) => coef[row] !== 0).slice(0, MOST_PATHS);
    if (fit.isRegression) {
      return rows
        .map((row) => [row, fit.y(row) - f[row]] as const)
        .filter(([, rest]) => Math.abs(rest) > tube + 1e-6)
        .map(([row, rest]) => {
          const x = toX(frame, fit.x(row));
          return `M${x} ${toY(frame, fit.y(row))}L${x} ${toY(frame, f[row] + Math.sign(rest) * tube)}`;
        });
    }
    const goal = fit.isClassifier ? 1 : 0;
    return rows
      .filter((row) => signs[row] * f[row] < goal - 1e-3)
      .map((row) => climb(fit, field, frame, fit.x(row), fit.y(row), signs[row], goal));
  }, [fit, k, m, many, field, frame.width, tube]);
  return (
    <g class="mm-slack">
      {lines.map((path, at) => (
        <path key={at} d={path} />
      ))}
    </g>
  );
}

/** Along the steepest way, from a point to where y f is what it should be. */
function climb(fit: Fit, field: ArrayLike<number>, frame: Frame, x: number, y: number, sign: number, goal: number) {
  const { nx, ny, view } = fit.grid;
  const value = (a: number, b: number) => between(fit, field, a, b);
  let u = ((x - view[0]) / (view[1] - view[0])) * nx - 0.5;
  let v = ((y - view[2]) / (view[3] - view[2])) * ny - 0.5;
  const place = () =>
    `${((u + 0.5) * (frame.width / nx)).toFixed(1)} ${((ny - v - 0.5) * (frame.height / ny)).toFixed(1)}`;
  let path = `M${toX(frame, x).toFixed(1)} ${toY(frame, y).toFixed(1)}`;
  for (let step = 0; step < 90 && sign * value(u, v) < goal; step++) {
    const du = sign * (value(u + 0.5, v) - value(u - 0.5, v));
    const dv = sign * (value(u, v + 0.5) - value(u, v - 0.5));
    const size = Math.hypot(du, dv);
    if (size < 1e-9) break;
    u += (0.5 * du) / size;
    v += (0.5 * dv) / size;
    if (u < 0 || v < 0 || u > nx - 1 || v > ny - 1) break;
    path += `L${place()}`;
  }
  return path;
}

/** Marks shrink where there is little room for them. */
const sizeOf = (fit: Fit, frame: Frame) =>
  Math.max(SMALLEST, Math.min(1, frame.width / WIDE) * Math.min(1, Math.sqrt(CROWD / fit.n)));

function Pair({ fit, k, frame, size }: { fit: Fit; k: number; frame: Frame; size: number }) {
  if (k < 1 || k > fit.nSteps || fit.nSteps === 0) return null;
  const step = fit.step(k - 1);
  const rows = fit.array(`rows${step.problem}`);
  const [i, j] = [rows[step.i], rows[step.j]];
  const at = { x1: toX(frame, fit.x(i)), y1: toY(frame, fit.y(i)), x2: toX(frame, fit.x(j)), y2: toY(frame, fit.y(j)) };
  return (
    <g class="mm-pair" data-pair={`${i},${j}`}>
      <line {...at} class="mm-pair-halo" />
      <line {...at} />
      <circle cx={at.x1} cy={at.y1} r={15 * size} />
      <circle cx={at.x2} cy={at.y2} r={15 * size} />
    </g>
  );
}

// Points.

function Points(props: { store: Store; fit: Fit; frame: Frame; k: number; m: number; many: boolean }) {
  const { store, fit, frame, k, m, many } = props;
  const full = fit.fullness(k, many ? null : m);
  const size = sizeOf(fit, frame);
  const most = full.reduce((a, b) => Math.max(a, b), 1e-12);
  const signs = fit.signs(m);
  const label = fit.array("label");
  const dark = store.isDark.value;
  const isPlain = fit.isRegression || fit.kind === "one_class";
  return (
    <g class="mm-points">
      {Array.from({ length: fit.n }, (_, row) => {
        const r = size * (LEAST + MOST * Math.sqrt(full[row] / most));
        const shape = isPlain ? 0 : label[row];
        const isBound = full[row] >= AT_BOUND;
        const faded = !many && signs[row] === 0;
        return (
          <g
            key={row}
            class="mm-point"
            data-row={row}
            data-faded={faded || undefined}
            data-support={full[row] > 0 || undefined}
            data-selected={store.selected.value === row || undefined}
            transform={`translate(${toX(frame, fit.x(row)).toFixed(2)} ${toY(frame, fit.y(row)).toFixed(2)})`}
            tabIndex={0}
            role="button"
            aria-label={`Point ${row + 1}${isPlain ? "" : `, class ${fit.header.classes[label[row]]}`}, at ${short(fit.x(row))}, ${short(fit.y(row))}, ${roleOf(full[row])}`}
            onFocus={() => (store.selected.value = row)}
            onKeyDown={(event) => onKey(store, fit, row, event)}
          >
            <circle class="mm-hit" r={MOUSE} />
            {isBound && <rect class="mm-at-bound" x={-r - 3.5 * size} y={-r - 3.5 * size} width={2 * r + 7 * size} height={2 * r + 7 * size} rx={1.5} />}
            <path d={marker(shape, r)} fill={isPlain ? colourOf(0, dark) : colourOf(label[row], dark)} />
          </g>
        );
      })}
    </g>
  );
}

const roleOf = (full: number) =>
  full === 0 ? "no support vector" : full >= AT_BOUND ? "support vector at its bound" : "support vector";

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-MOVE, 0], ArrowRight: [MOVE, 0], ArrowUp: [0, MOVE], ArrowDown: [0, -MOVE],
};

function onKey(store: Store, fit: Fit, row: number, event: KeyboardEvent) {
  const arrow = ARROWS[event.key];
  if (store.options.isRecorded) return;
  if (arrow) {
    const far = event.shiftKey ? 5 : 1;
    store.movePoint(row, far * arrow[0], far * arrow[1]);
  } else if (event.key === "Delete" || event.key === "Backspace") {
    store.removePoint(row);
  } else if (/^[1-6]$/.test(event.key) && fit.isClassifier) {
    store.editPoint(row, ([x, y, , weight]) => [x, y, Number(event.key) - 1, weight]);
  } else if (event.key === "Escape") {
    store.selected.value = -1;
    (event.currentTarget as HTMLElement | null)?.blur?.();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

/** A press on a point drags it, a press elsewhere adds one. */
function usePointer(store: Store, fit: Fit, frame: Frame) {
  const press = useRef<{ row: number; x: number; y: number; isDrag: boolean; id: number } | null>(null);
  if (store.options.isRecorded) return {};
  const place = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = (x: number, y: number, reach: number) => {
    let best = -1;
    let least = reach;
    for (let row = 0; row < fit.n; row++) {
      const away = Math.hypot(toX(frame, fit.x(row)) - x, toY(frame, fit.y(row)) - y);
      if (away < least) [best, least] = [row, away];
    }
    return best;
  };
  return {
    // A mouse chooses no point for the keys: the arrow keys go on through the steps.
    onMouseDown: (event: MouseEvent) => {
      event.preventDefault();
      (event.currentTarget as Element).closest<HTMLElement>(".mm-play")!.focus({ preventScroll: true });
    },
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      const [x, y] = place(event);
      const row = nearest(x, y, event.pointerType === "touch" ? TOUCH : MOUSE);
      press.current = { row, x, y, isDrag: false, id: event.pointerId };
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const now = press.current;
      if (!now || now.id !== event.pointerId || now.row < 0) return;
      const [x, y] = place(event);
      if (!now.isDrag && Math.hypot(x - now.x, y - now.y) < LEAST_DRAG) return;
      if (!now.isDrag) {
        now.isDrag = true;
        store.selected.value = now.row;
        store.beginDrag();
      }
      store.drag(now.row, fromX(frame, x), fromY(frame, y));
    },
    onPointerUp: (event: PointerEvent) => {
      const now = press.current;
      press.current = null;
      if (!now || now.id !== event.pointerId) return;
      if (now.isDrag) return store.endDrag();
      if (now.row >= 0) {
        store.selected.value = now.row;
        return;
      }
      const [x, y] = place(event);
      store.addPoint(fromX(frame, x), fromY(frame, y));
    },
    onPointerCancel: () => {
      if (press.current?.isDrag) store.endDrag();
      press.current = null;
    },
  };
}
