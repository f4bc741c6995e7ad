
/** Names the variables that a server does not get. */
export const environmentGate = {
    select(_facts, subject) {
        const names = subject.offered.map(({ name }) => name);
        const removed = names.filter((name) => words.some((word) => name.includes(word)));
        return { removed, findings: removed.map(() => finding(RULE, 'high', MESSAGE)), extensions: '{}' };
    },
};
