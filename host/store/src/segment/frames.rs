//! Frames: the form of a record in a segment.
//!
//! What records only name, attachments, stands between them in frames whose length has its highest bit set, followed by the
//! SHA-256 of the bytes alone.

use portcullis_model::Digest;

use crate::chain::Link;

const LENGTH: usize = 4;
const HASH: usize = 32;
const ATTACHMENT: u32 = 1 << 31;

/// The longest body that is written or read. Texts and lists of a record are cut, so that one of 60 policies which each
/// find as much as they can in three rounds stays below it.
pub(crate) const LONGEST_BODY: usize = 16 << 20;

/// What stands next in a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A whole record.
    Record {
        /// Its JSON text.
        body: &'a str,
        /// Its place in the chain.
        link: Link,
        /// Bytes of its frame.
        length: usize,
    },
    /// Bytes that a later record names by their digest.
    Attachment {
        /// They.
        bytes: &'a [u8],
        /// Their digest.
        digest: Digest,
        /// Bytes of the frame.
        length: usize,
    },
    /// Nothing, or a frame whose end is missing; so many bytes are needed to say more.
    Partial(usize),
    /// Something that no writer of this chain wrote here.
    Damaged,
}

/// Appends the frame of a record; nothing where its body is longer than any reader accepts.
pub(crate) fn append_frame(frames: &mut Vec<u8>, body: &[u8], link: &Link) -> Option<()> {
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= LONGEST_BODY)?;
    frames.extend_from_slice(&length.to_be_bytes());
    frames.extend_from_slice(body);
    frames.extend_from_slice(link.hash.as_bytes());
    Some(())
}

/// Appends the frame of bytes that a record names.
pub(crate) fn append_attachment(frames: &mut Vec<u8>, bytes: &[u8], digest: &Digest) -> Option<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= LONGEST_BODY)?;
    frames.extend_from_slice(&(length | ATTACHMENT).to_be_bytes());
    frames.extend_from_slice(bytes);
    frames.extend_from_slice(digest.as_bytes());
    Some(())
}

/// Reads the frame at the start of `bytes`, which follows the given place in the chain.
pub(crate) fn next_frame<'a>(bytes: &'a [u8], before: &Link) -> Next<'a> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
        return Next::Partial(LENGTH);
    };
    let length = u32::from_be_bytes(*length);
    let is_attachment = length & ATTACHMENT != 0;
    let length = (length & !ATTACHMENT) as usize;
    if length == 0 || length > LONGEST_BODY {
        return Next::Damaged;
    }
    let Some((body, rest)) = rest.split_at_checked(length) else {
        return Next::Partial(LENGTH + length + HASH);
    };
    let Some((hash, _)) = rest.split_first_chunk::<HASH>() else {
        return Next::Partial(LENGTH + length + HASH);
    };
    let frame = LENGTH + length + HASH;
    if is_attachment {
        let digest = Digest::of(body);
        let is_whole = digest == Digest::from_bytes(*hash);
        return if is_whole { Next::Attachment { bytes: body, digest, length: frame } } else { Next::Damaged };
    }
    let link = before.next(body);
    match std::str::from_utf8(body) {
        Ok(body) if link.hash == Digest::from_bytes(*hash) => Next::Record { body, link, length: frame },
        Ok(_) | Err(_) => Next::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainId;

    #[test]
    fn frames_are_read_as_they_were_written_and_every_cut_and_change_is_noticed() {
        let start = Link::start(ChainId::from_bytes([1; 16]));
        let first = start.next(b"one");
        let second = first.next(b"second");
        let mut bytes = Vec::new();
        append_frame(&mut bytes, b"one", &first).unwrap();
        let length = bytes.len();
        append_frame(&mut bytes, b"second", &second).unwrap();
        assert_eq!(next_frame(&bytes, &start), Next::Record { body: "one", link: first, length });
        let rest = &bytes[length..];
        assert_eq!(next_frame(rest, &first), Next::Record { body: "second", link: second, length: rest.len() });
        for cut in 0..length {
            assert!(matches!(next_frame(&bytes[..cut], &start), Next::Partial(_)), "cut to {cut} bytes");
        }
        for place in 0..length {
            let mut changed = bytes[..length].to_vec();
            changed[place] ^= 0x80;
            assert!(!matches!(next_frame(&changed, &start), Next::Record { .. }), "byte {place} was changed");
        }
        assert_eq!(next_frame(rest, &start), Next::Damaged, "it stands at another place");
        let mut attached = Vec::new();
        append_attachment(&mut attached, b"sealed", &Digest::of(b"sealed")).unwrap();
        let whole = Next::Attachment { bytes: b"sealed", digest: Digest::of(b"sealed"), length: attached.len() };
        assert_eq!(next_frame(&attached, &start), whole);
        attached[5] ^= 1;
        assert_eq!(next_frame(&attached, &start), Next::Damaged);
        assert_eq!(append_frame(&mut Vec::new(), &vec![b' '; LONGEST_BODY + 1], &first), None);
    }
}
