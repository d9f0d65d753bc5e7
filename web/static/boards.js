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

// Boards passes each change of the displayed leaderboard to its view.
export class Boards {
  #request;
  #watch = null;

  // request sends a request on the connection.
  constructor({ request }) {
    this.#request = request;
  }

  // watch calls onPage(page) with the top of the board, now and after each change. It ends
  // when the returned function is called or the connection is lost.
  watch(board, onPage) {
    const watch = (this.#watch = { board, onPage, timer: 0 });
    this.#ask(watch);
    return () => {
      clearTimeout(watch.timer);
      if (this.#watch === watch) this.#watch = null;
      this.#request('board.unwatch', board).catch(() => {}); // the watch also ends with the connection
    };
  }

  // receive takes a push of a board; one that is no longer shown is dropped.
  receive({ data }) {
    const { board, onPage } = this.#watch ?? {};
    if (board && ['window', 'order', 'kind'].every((field) => board[field] === data[field])) onPage(data);
  }

  async #ask(watch) {
    try {
      await this.#request('board.watch', watch.board);
    } catch ({ code }) {
      if (this.#watch === watch && code !== 'disconnected') watch.timer = setTimeout(() => this.#ask(watch), AGAIN_MS);
    }
  }
}
