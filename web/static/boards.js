export const LIMIT = 10;
const AGAIN_MS = 5000;
const DAY_MS = 86_400_000;

// A view of the boards is at {window, order, kind, date, query}: date is a past
// day of window `day`, else null; query is {}, {cursor} or {around}.

// asked is the query of what a view is at.
export const asked = ({ order, kind, date, query }) =>
  ({ order, kind, limit: LIMIT, ...(date && { date }), ...query });

// watchable is what board.watch takes of it; null for a day that is over.
export const watchable = ({ window, order, kind, date }) => (date ? null : { window, order, kind, limit: LIMIT });

export const isTop = ({ query }) => !query.cursor && !query.around;

// dayFrom is the civil date n days after one.
export const dayFrom = (date, n) => new Date(Date.parse(date) + n * DAY_MS).toISOString().slice(0, 10);

// Boards has a view told of each change of the one board that it shows.
export class Boards {
  #request;
  #watch = null;

  // request asks over the line.
  constructor({ request }) {
    this.#request = request;
  }

  // watch calls told(page) with the board's top, now and when it has changed,
  // until what it returns is called or the line is lost.
  watch(board, told) {
    const watch = (this.#watch = { board, told, timer: 0 });
    this.#ask(watch);
    return () => {
      clearTimeout(watch.timer);
      if (this.#watch === watch) this.#watch = null;
      this.#request('board.unwatch', board).catch(() => {}); // it ends with the line too
    };
  }

  // receive takes a push of a board; one that is no longer shown is dropped.
  receive({ data }) {
    const { board, told } = this.#watch ?? {};
    if (board && ['window', 'order', 'kind'].every((field) => board[field] === data[field])) told(data);
  }

  async #ask(watch) {
    try {
      await this.#request('board.watch', watch.board);
    } catch ({ code }) {
      if (this.#watch === watch && code !== 'disconnected') watch.timer = setTimeout(() => this.#ask(watch), AGAIN_MS);
    }
  }
}
