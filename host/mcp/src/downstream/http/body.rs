//! The body of a request, within its bounds.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use portcullis_model::json::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies up to this do not count against the memory of all: as many requests as may run at once do not take much.
const SMALL: usize = 64 * 1024;
/// Memory is counted in pieces of this many bytes.
const PIECE: usize = 1024;
/// So much of a body that is too long is read on and thrown away, so that its sender gets to read the answer.
const DISCARDED: usize = 4 * Limits::WIRE.bytes;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoBody {
    /// It is longer than a message may be.
    TooLong,
    /// It did not come in time.
    TooSlow,
    /// Too much memory is taken by others.
    NoRoom,
    /// The client broke off.
    Broken,
}

/// Returns the memory that bodies may take together, as permits.
pub(super) fn memory(bytes: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(bytes / PIECE))
}

/// Reads a body, with the memory that it takes where that is much.
pub(super) async fn read(
    mut body: Incoming,
    limit: Duration,
    memory: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), NoBody> {
    let outcome = tokio::time::timeout(limit, collect(&mut body, memory)).await.unwrap_or(Err(NoBody::TooSlow));
    // One that is far too long is not waited for.
    if matches!(outcome, Err(NoBody::TooLong)) && body.size_hint().lower() <= DISCARDED as u64 {
        let _ = tokio::time::timeout(limit, discard(&mut body)).await;
    }
    outcome
}

async fn collect(
    body: &mut Incoming,
    memory: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), NoBody> {
    let announced = body.size_hint().exact().map(usize::try_from);
    let announced = match announced {
        Some(Ok(length)) if length <= Limits::WIRE.bytes => Some(length),
        Some(_) => return Err(NoBody::TooLong),
        None => None,
    };
    let mut taken = None;
    if let Some(length) = announced {
        take(memory, &mut taken, length)?;
    }
    let mut first: Option<Bytes> = None;
    let mut rest: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        // Trailers say nothing to us.
        let Ok(data) = frame.map_err(|_| NoBody::Broken)?.into_data() else { continue };
        let length = first.as_ref().map_or(0, Bytes::len).max(rest.len()) + data.len();
        if length > Limits::WIRE.bytes {
            return Err(NoBody::TooLong);
        }
        // Most bodies come in one piece, which is then not copied.
        let Some(begin) = first.take_if(|_| rest.is_empty()) else {
            if rest.is_empty() {
                first = Some(data);
            } else {
                take(memory, &mut taken, length)?;
                rest.extend_from_slice(&data);
            }
            continue;
        };
        take(memory, &mut taken, length)?;
        rest.reserve_exact(announced.unwrap_or(length).max(length));
        rest.extend_from_slice(&begin);
        rest.extend_from_slice(&data);
    }
    Ok((first.unwrap_or_else(|| rest.into()), taken))
}

/// Takes memory for so many bytes in all.
fn take(memory: &Arc<Semaphore>, taken: &mut Option<OwnedSemaphorePermit>, length: usize) -> Result<(), NoBody> {
    if length <= SMALL {
        return Ok(());
    }
    let wanted = length.div_ceil(PIECE);
    let missing = wanted.saturating_sub(taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    if missing == 0 {
        return Ok(());
    }
    let missing = u32::try_from(missing).map_err(|_| NoBody::NoRoom)?;
    let more = Arc::clone(memory).try_acquire_many_owned(missing).map_err(|_| NoBody::NoRoom)?;
    match taken {
        Some(taken) => taken.merge(more),
        None => *taken = Some(more),
    }
    Ok(())
}

/// Reads on for a while, and keeps nothing.
async fn discard(body: &mut Incoming) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > DISCARDED {
            return;
        }
    }
}
