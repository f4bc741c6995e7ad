// Denies calls that write outside of the working folders.

import { allow, deny, description, finding, refuse, settings, span } from './portcullis.js';

const RULES = [
    { id: 'outside-folder', severity: 'high', summary: 'An absolute path outside of every working folder.' },
    { id: 'leaves-folder', severity: 'high', summary: 'A relative path that climbs out of where it starts.' },
    { id: 'unclear-path', severity: 'high', summary: 'A path whose place cannot be told from its text.' },
];

const MESSAGES = {
    'outside-folder': 'the path lies outside of the working folders',
    'leaves-folder': 'the path climbs out of where it starts',
    'unclear-path': 'where the path leads cannot be told',
};

const USUAL = ['path', 'paths', 'file', 'file_path', 'filename', 'directory', 'folder', 'destination', 'target'];

let folders = [];
let names = new Set();

export const lifecycle = {
    describe() {
        return description({
            name: 'working-folder',
            version: '1.0.0',
            summary: 'Denies calls that write outside of the working folders.',
            rules: RULES,
            wants: { deny: true },
        });
    },

    configure(json, _packs) {
        const given = settings(json, { folders: [], arguments: USUAL });
        if (given.folders.some((folder) => !folder.startsWith('/') || isUnclear(folder))) {
            refuse('/folders', 'a working folder is an absolute path');
        }
        folders = given.folders.map((folder) => parts(folder).kept);
        names = new Set(given.arguments);
    },
};

/** The parts of a path with `.` and `..` resolved, and whether it climbs above its start. */
function parts(path) {
    const kept = [];
    let climbed = false;
    for (const part of path.split('/')) {
        if (part === '' || part === '.') continue;
        if (part !== '..') kept.push(part);
        else if (kept.pop() === undefined) climbed = true;
    }
    return { kept, climbed };
}

function isUnclear(path) {
    return path.startsWith('~') || /[\u0000-\u001f$\\]/.test(path);
}

/** The rule that a path breaks, if it does. */
function broken(path) {
    if (path === '') return undefined;
    if (path.startsWith('file:')) {
        if (!path.startsWith('file:///') || path.includes('%')) return 'unclear-path';
        path = path.slice('file://'.length);
    }
    if (isUnclear(path)) return 'unclear-path';
    const { kept, climbed } = parts(path);
    if (!path.startsWith('/')) return climbed ? 'leaves-folder' : undefined;
    const below = folders.some((folder) => folder.every((part, index) => kept[index] === part));
    return below ? undefined : 'outside-folder';
}

/** The name of the argument that a string belongs to: the last part of its pointer that is no index. */
function nameOf(pointer) {
    return pointer.split('/').findLast((part) => part !== '' && !/^[0-9]/.test(part)) ?? '';
}

/** A server that the operator does not trust is not believed when it says that a tool only reads. */
function mayWrite(facts, call) {
    if (call.kind !== 'tool' || call.utility) return false;
    return call.annotations.readOnly !== true || facts.serverTrust === 'untrusted';
}

export const callGate = {
    authorize(facts, call) {
        if (!mayWrite(facts, call)) return allow();
        const findings = call.segments.flatMap((segment, index) => {
            const rule = !segment.key && names.has(nameOf(segment.pointer)) ? broken(segment.text) : undefined;
            return rule ? [finding(rule, 'high', MESSAGES[rule], span(call.segments, index))] : [];
        });
        if (findings.length === 0) return allow();
        return deny('write-outside-folder', 'the call may write outside of the working folders', { findings });
    },
};
