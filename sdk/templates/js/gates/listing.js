
/** Judges what a server offers: one verdict an item, in order. */
export const listingGate = {
    scan: (_facts, batch) => batch.items.map((item) => judge(item.segments)),
};
