/** Something that a view fetches, keeps, and fetches again when it may have changed. */

import { useSignal, useSignalEffect, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { asProblem, get, type Problem } from "../api/client";
import { isLive, live } from "./store";

type Query = Record<string, string | number | boolean | null | undefined>;

export interface Fetched<T> {
  data: Signal<T | null>;
  problem: Signal<Problem | null>;
  again: () => void;
}

/** `path` null: nothing is fetched. `everySeconds`: how often at most it is fetched again while events come in. */
export function useFetched<T>(path: string | null, query: Query = {}, everySeconds = 0): Fetched<T> {
  const data = useSignal<T | null>(null);
  const problem = useSignal<Problem | null>(null);
  const last = useRef(0);
  const number = useRef(0);
  const key = path === null ? null : `${path} ${JSON.stringify(query)}`;
  const again = (): void => {
    if (path === null) return;
    const mine = (number.current += 1);
    last.current = Date.now();
    get<T>(path, query).then(
      (told) => {
        if (mine !== number.current) return;
        data.value = told;
        problem.value = null;
      },
      (error: unknown) => {
        if (mine === number.current) problem.value = asProblem(error);
      },
    );
  };
  useEffect(() => {
    data.value = null;
    problem.value = null;
    again();
  }, [key]);
  useSignalEffect(() => {
    const isThere = isLive.value;
    const seq = live.value?.seq;
    if (!isThere || seq === undefined || everySeconds === 0 || last.current === 0) return undefined;
    const wait = Math.max(0, last.current + everySeconds * 1000 - Date.now());
    const timer = setTimeout(again, wait);
    return () => clearTimeout(timer);
  });
  return { data, problem, again };
}
