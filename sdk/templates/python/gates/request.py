

class RequestGate(wit_world.exports.RequestGate):
    def authorize(self, facts: types.Facts, request: "wit_world.exports.request_gate.Request") -> types.Verdict:
        """Judges what a server asks of the client."""
        return judge(request.segments)
