// Ten lessons, one for each of ten pages of the theory: a state, a few words, and what to try.
//
// They stand in a file of their own, because the figures of the documentation are made from them.

import lessons from "./lessons.json";

export type Lesson = { title: string; page: string; words: string; tries: string[]; link: string };

const linkTo = (state: object) =>
  `#${new URLSearchParams(Object.entries({ v: 1, ...state }).map(([name, value]) => [name, `${value}`]))}`;

export const LESSONS: Lesson[] = lessons.map(({ state, ...told }) => ({ ...told, link: linkTo(state) }));
