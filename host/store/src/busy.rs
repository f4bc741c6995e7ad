//! How long a write waits for another process that writes to the same database.

use std::time::Duration;

/// `SQLite`'s own handler starts at a millisecond, a hundred times as long as a usual commit takes; ours starts small.
const SHORTEST: Duration = Duration::from_micros(20);

/// A commit with fsync takes milliseconds; looking more often than this would only burn processor time.
const LONGEST: Duration = Duration::from_millis(5);

/// About five seconds altogether (eight doubling waits, then steps of 5 ms): longer than a slow fsync, far shorter
/// than the five minutes that a call may take.
const MOST_TRIES: i32 = 1_000;

/// For work that can be done later as well, such as pruning and checkpoints: about 50 ms.
const FEW_TRIES: i32 = 16;

/// The busy handler of a writer that somebody waits for.
pub(crate) fn wait(tries: i32) -> bool {
    wait_at_most(tries, MOST_TRIES)
}

/// The busy handler of work that can be done later.
pub(crate) fn wait_briefly(tries: i32) -> bool {
    wait_at_most(tries, FEW_TRIES)
}

fn wait_at_most(tries: i32, most: i32) -> bool {
    if tries >= most {
        return false;
    }
    let factor = 1_u32 << tries.clamp(0, 8);
    std::thread::sleep((SHORTEST * factor).min(LONGEST));
    true
}
