// createStore holds the page's one state. Views read it, never write it;
// patch() replaces the fields given and tells every listener, at once.
export function createStore(initial) {
  let state = initial;
  const listeners = new Set();
  return {
    get: () => state,
    patch(fields) {
      state = { ...state, ...fields };
      for (const listener of listeners) listener(state);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
