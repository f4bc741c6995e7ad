

class ResultGate(wit_world.exports.ResultGate):
    def sanitize(self, facts: types.Facts, subject: "wit_world.exports.result_gate.Subject") -> types.Verdict:
        """Judges what is on its way to the model. Keys of objects are judged and cannot be edited."""
        found = findings(subject.segments)
        places = [place for one in found for place in one.evidence if not subject.segments[place.segment].key]
        return allow(findings=found, edits=[blank(RULE, place) for place in places])
