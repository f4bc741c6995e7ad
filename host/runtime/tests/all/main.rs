//! Policies that misbehave, caches that were tampered with, and stores that change while they are used.

mod cached;
mod chain;
mod guest;
mod hostile;
mod inert;
mod snapshots;
mod stores;
