
/** Judges a call before anything is sent. */
export const callGate = {
    authorize: (_facts, call) => judge(call.segments),
};
