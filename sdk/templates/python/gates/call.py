

class CallGate(wit_world.exports.CallGate):
    def authorize(self, facts: types.Facts, call: "wit_world.exports.call_gate.Call") -> types.Verdict:
        """Judges a call before anything is sent."""
        return judge(call.segments)
