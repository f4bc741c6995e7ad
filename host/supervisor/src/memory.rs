//! What becomes of memory that is not needed any more.

/// Blocks of this size and more go back to the system as soon as they are freed: the texts of large messages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 256 * 1024;

/// Has the allocator give large blocks back to the system as soon as they are freed. To be called before there are threads.
///
/// The C library of GNU raises the size from which on it does so by itself, up to 32 MiB, with each large block that is
/// freed: then a burst of large messages leaves a heap behind that small blocks keep from shrinking. Elsewhere nothing is
/// done.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "the C library alone can set up its allocator")]
    // SAFETY: the call takes two numbers, and there is no other thread yet that could allocate meanwhile. Where it fails,
    // everything stays as it was.
    unsafe {
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LARGE);
    }
}
