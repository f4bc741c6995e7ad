
/** Judges what a server asks of the client. */
export const requestGate = {
    authorize: (_facts, request) => judge(request.segments),
};
