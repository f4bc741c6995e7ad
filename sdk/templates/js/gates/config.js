
/** Judges a server entry before anything is started. */
export const configGate = {
    screen: (_facts, entry) => judge(entry.segments),
};
