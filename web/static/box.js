// box keeps small texts in a browser storage, given by its name; where the
// browser forbids that, in memory for as long as the page lives.
export function box(storage) {
  const memory = new Map();
  return {
    get(key) {
      try {
        return window[storage].getItem(key);
      } catch {
        return memory.get(key) ?? null;
      }
    },
    set(key, value) {
      try {
        window[storage].setItem(key, value);
      } catch {
        memory.set(key, value);
      }
    },
  };
}
