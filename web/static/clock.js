const KEPT = 8;

// Clock returns the server's time, based on the page's monotonic clock. Each ping and its pong
// bound the offset to half their round trip. Of the last few samples the clock uses the one
// with the shortest round trip (Cristian's algorithm).
export class Clock {
  #samples = [];
  #monotonic;

  // monotonic is a clock in ms that never goes backwards.
  constructor(monotonic = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  // local returns the monotonic time for the stamp of a ping.
  local() {
    return this.#monotonic();
  }

  // now returns the server's time in epoch ms, or the machine's time before the first sample.
  now() {
    return this.synced ? this.#monotonic() + this.#best().offset : Date.now();
  }

  get synced() {
    return this.#samples.length > 0;
  }

  // sample adds a pong that has just arrived; sentAt is the local time of its ping.
  sample(sentAt, serverAt) {
    const receivedAt = this.#monotonic();
    const offset = serverAt - (sentAt + receivedAt) / 2;
    this.#samples = [...this.#samples, { offset, rtt: receivedAt - sentAt }].slice(-KEPT);
  }

  // reset drops all samples, because the machine may have slept before a new connection.
  reset() {
    this.#samples = [];
  }

  #best() {
    return this.#samples.reduce((best, next) => (next.rtt < best.rtt ? next : best));
  }
}
