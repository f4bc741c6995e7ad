

class EnvironmentGate(wit_world.exports.EnvironmentGate):
    def select(
        self, facts: types.Facts, subject: "wit_world.exports.environment_gate.Subject"
    ) -> "wit_world.exports.environment_gate.Selection":
        """Names the variables that a server does not get."""
        removed = [offered.name for offered in subject.offered if any(word in offered.name for word in words)]
        found = [finding(RULE, Severity.HIGH, MESSAGE) for _ in removed]
        return wit_world.exports.environment_gate.Selection(removed, found, "{}")
