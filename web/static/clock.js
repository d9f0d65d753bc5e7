const KEPT = 8;

// Clock tells the server's time on the page's monotonic clock. Each ping and
// its pong bound the offset by half their round trip; of the last few samples
// the one with the shortest round trip is believed (Cristian's algorithm).
export class Clock {
  #samples = [];
  #monotonic;

  // monotonic is a clock in ms that never goes backwards.
  constructor(monotonic = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  // local is the monotonic instant to stamp a ping with.
  local() {
    return this.#monotonic();
  }

  // now is the server's time in epoch ms; the machine's own until a sample came.
  now() {
    return this.synced ? this.#monotonic() + this.#best().offset : Date.now();
  }

  get synced() {
    return this.#samples.length > 0;
  }

  // sample takes a pong heard now: sentAt is the local instant of its ping.
  sample(sentAt, serverAt) {
    const heardAt = this.#monotonic();
    const offset = serverAt - (sentAt + heardAt) / 2;
    this.#samples = [...this.#samples, { offset, rtt: heardAt - sentAt }].slice(-KEPT);
  }

  // reset forgets all samples: after a new connection the machine may have slept.
  reset() {
    this.#samples = [];
  }

  #best() {
    return this.#samples.reduce((best, next) => (next.rtt < best.rtt ? next : best));
  }
}
