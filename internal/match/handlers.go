package match

// Handlers returns the functions that handle messages of other nodes, by kind.
// They do not block.
func (e *Engine) Handlers() map[string]func(payload []byte) {
	return map[string]func([]byte){
		kindStep:    e.handler(e.onStep),
		kindSettled: e.handler(e.onSettled),
		kindBroadcast: e.handler(func(local *localMatch, _ messageHeader, frames [][]byte) {
			local.broadcast(frames...)
		}),
		kindExpel: e.handler(func(local *localMatch, header messageHeader, frames [][]byte) {
			e.expel(local, header.Player, nil, frames)
		}),
	}
}

// onStep delivers a step or an accepted answer of another node to the local match.
func (e *Engine) onStep(local *localMatch, header messageHeader, frames [][]byte) {
	if local.noteRemoteStep(header.Version, header.FirstSeq+int64(len(frames))-1, header.State != nil) {
		e.scheduleCatchUp(local) // the read shows whether the store has lost writes
	}
	if e.deliver(local, delivery{frames: numberedFrames{firstSeq: header.FirstSeq, encoded: frames}, state: header.State}) {
		local.noteRemoteAnswer(header)
		e.noteChange(local)
	}
}
