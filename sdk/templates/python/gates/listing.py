

class ListingGate(wit_world.exports.ListingGate):
    def scan(self, facts: types.Facts, batch: "wit_world.exports.listing_gate.Batch") -> list[types.Verdict]:
        """Judges what a server offers: one verdict an item, in order."""
        return [judge(item.segments) for item in batch.items]
