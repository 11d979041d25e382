/**
 * The WebSocket: pushed events by sequence number. It comes back by itself; whoever uses it says where to go on.
 */

import { decoded } from "./decoding";
import { secret } from "./secret";

export interface Frame {
  seq?: number;
  event?: string;
  payload?: Record<string, unknown>;
  more?: boolean;
  re?: string;
  error?: { code?: string; message?: string; detail?: string } | null;
  [name: string]: unknown;
}

export interface Listener {
  /** The secret was taken; ask for what was missed here. */
  opened(): void;
  /** The connection is gone; another is tried. `refused`: the secret is wrong, and none is. */
  closed(refused: boolean): void;
  pushed(frame: Frame): void;
}

const SHORTEST = 250;
const LONGEST = 5000;

export class Socket {
  private socket: WebSocket | null = null;
  private wait = SHORTEST;
  private timer = 0;
  private number = 0;
  private replies = new Map<string, (frame: Frame) => void>();
  private ended = false;

  constructor(private readonly listener: Listener) {
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.hurry();
    });
  }

  connect(): void {
    clearTimeout(this.timer);
    const known = secret();
    if (known === null || this.socket !== null || this.ended) return;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/ws`);
    this.socket = socket;
    let wasOpen = false;
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ type: "auth", secret: known }));
      this.wait = SHORTEST;
      wasOpen = true;
      this.listener.opened();
    });
    socket.addEventListener("message", (message: MessageEvent<string>) => this.heard(message.data));
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.replies.clear();
      const refused = event.code === 4001;
      this.ended = refused;
      this.listener.closed(refused);
      if (refused) return;
      this.timer = window.setTimeout(() => this.connect(), wasOpen ? SHORTEST : this.wait * (0.8 + 0.4 * Math.random()));
      if (!wasOpen) this.wait = Math.min(LONGEST, this.wait * 1.6);
    });
  }

  /** Ask for something; the answer comes as a frame, or never if the connection breaks. */
  ask(action: string, payload: Record<string, unknown>, answered: (frame: Frame) => void = () => undefined): void {
    if (this.socket === null || this.socket.readyState !== WebSocket.OPEN) return;
    const id = String((this.number += 1));
    this.replies.set(id, answered);
    this.socket.send(JSON.stringify({ id, action, payload }));
  }

  private heard(data: string): void {
    let frame: Frame;
    try {
      frame = decoded(data) as Frame;
    } catch {
      return;
    }
    if (frame.re !== undefined) {
      const answered = this.replies.get(String(frame.re));
      this.replies.delete(String(frame.re));
      answered?.(frame);
    } else if (frame.event !== undefined) {
      this.listener.pushed(frame);
    }
  }

  private hurry(): void {
    if (this.socket === null) {
      this.wait = SHORTEST;
      this.connect();
    }
  }
}
