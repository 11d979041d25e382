/** Where the tasks of a feature stand in its graph: waves are columns, tasks are nodes. Pure. */

export interface Node {
  id: string;
  wave: number;
  x: number;
  y: number;
}

export interface Edge {
  from: string;
  to: string;
  path: string;
}

export interface Graph {
  width: number;
  height: number;
  nodes: Node[];
  edges: Edge[];
}

export interface Box {
  width: number;
  height: number;
  across: number;
  down: number;
}

export const BOX: Box = { width: 184, height: 48, across: 56, down: 12 };
/** On a phone two waves stand side by side. */
export const SMALL_BOX: Box = { width: 140, height: 48, across: 24, down: 12 };

/** Tasks that are in no wave come last; an edge that leads nowhere is left out. */
export function layout(waves: readonly (readonly string[])[], tasks: readonly string[], needs: ReadonlyMap<string, readonly string[]>, box: Box): Graph {
  const placed = new Set(waves.flat());
  const known = new Set(tasks);
  const rest = tasks.filter((one) => !placed.has(one));
  const columns = [...waves.map((wave) => wave.filter((one) => known.has(one))), rest].filter((wave) => wave.length > 0);
  const tallest = Math.max(0, ...columns.map((wave) => wave.length));
  const full = tallest * (box.height + box.down) - box.down;
  const nodes = columns.flatMap((wave, at) => {
    const top = (full - (wave.length * (box.height + box.down) - box.down)) / 2;
    return wave.map((id, row) => ({ id, wave: at, x: at * (box.width + box.across), y: top + row * (box.height + box.down) }));
  });
  const byId = new Map(nodes.map((one) => [one.id, one]));
  const edges: Edge[] = [];
  for (const to of nodes) {
    const named = needs.get(to.id);
    const before = named ?? (to.wave > 0 ? nodes.filter((one) => one.wave === to.wave - 1).map((one) => one.id) : []);
    for (const name of before) {
      const from = byId.get(name);
      if (from === undefined || from.x >= to.x) continue;
      const [x1, y1] = [from.x + box.width, from.y + box.height / 2];
      const [x2, y2] = [to.x, to.y + box.height / 2];
      const bend = Math.max(24, (x2 - x1) / 2);
      edges.push({ from: name, to: to.id, path: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
    }
  }
  const width = columns.length * (box.width + box.across) - box.across;
  return { width: Math.max(0, width), height: Math.max(0, full), nodes, edges };
}
