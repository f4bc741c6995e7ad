

class ConfigGate(wit_world.exports.ConfigGate):
    def screen(self, facts: types.Facts, entry: types.Entry) -> types.Verdict:
        """Judges a server entry before anything is started."""
        return judge(entry.segments)
