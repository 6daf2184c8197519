// Three ways in: the page of the local server, a figure with recorded replies, a notebook widget.

import { render as renderTree } from "preact";
import { App } from "./app";
import type { Grid } from "./fit";
import { stateOf } from "./state";
import { Store } from "./store";
import { askRecorded, askServer, unpacked, type Ask } from "./wire";
import "./style.css";

type Recorded = { link: string; grid: Grid; replies: Record<string, string> };

function mount(element: HTMLElement, store: Store): () => void {
  renderTree(<App store={store} />, element);
  return () => {
    store.end();
    renderTree(null, element);
  };
}

/** A question by the widget's own channel: the answer comes with the number of the question. */
function askKernel(model: any): Ask {
  let last = 0;
  const open = new Map<number, (data: any, buffers: DataView[]) => void>();
  model.on("msg:custom", (data: any, buffers: DataView[]) => {
    open.get(data.number)?.(data, buffers);
    open.delete(data.number);
  });
  return (request) =>
    new Promise((resolve, reject) => {
      const number = ++last;
      open.set(number, (data, buffers) => {
        if (data.error) return reject(new Error(data.error));
        const { buffer, byteOffset, byteLength } = buffers[0];
        resolve(unpacked(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer));
      });
      model.send({ number, request });
    });
}

export default {
  render({ model, el }: { model: any; el: HTMLElement }) {
    return mount(el, new Store(askKernel(model), { hasLink: false }, stateOf(model.get("link"))));
  },
};

const place = typeof document === "undefined" ? null : document.getElementById("maxmargin-play");
if (place) {
  const recorded = document.getElementById("maxmargin-recorded");
  if (recorded) {
    const { link, grid, replies } = JSON.parse(recorded.textContent!) as Recorded;
    const store = new Store(askRecorded(replies), { hasLink: false, isRecorded: true, grid }, stateOf(link));
    mount(place, store);
  } else {
    const store = new Store(askServer, { hasLink: true });
    mount(place, store);
    (window as any).maxmarginPlay = store; // for those who look behind the page, and for tests
  }
}
