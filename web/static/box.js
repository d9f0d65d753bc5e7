// box keeps small texts in a browser storage, given by its name. If the browser
// forbids that, it keeps them in memory for as long as the page lives. With a game
// the texts are that game's own.
export function box(storage, game = null) {
  const memory = new Map();
  const name = (key) => (game === null ? key : `${key}/${game}`);
  return {
    get(key) {
      try {
        return window[storage].getItem(name(key));
      } catch {
        return memory.get(name(key)) ?? null;
      }
    },
    set(key, value) {
      try {
        window[storage].setItem(name(key), value);
      } catch {
        memory.set(name(key), value);
      }
    },
  };
}
