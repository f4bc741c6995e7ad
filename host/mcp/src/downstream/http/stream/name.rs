//! Names of streams, and the ids of their events.

/// Which stream of its session one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum StreamName {
    /// It answers a message that was posted.
    Posted(u64),
    /// It was opened to listen.
    Listening(u64),
}

impl StreamName {
    /// Writes the id of an event: which stream, which event.
    pub(in super::super) fn event_id(self, number: u64) -> String {
        match self {
            Self::Posted(stream) => format!("p{stream}.{number}"),
            Self::Listening(stream) => format!("l{stream}.{number}"),
        }
    }

    /// Reads the id of an event.
    pub(in super::super) fn parse_event_id(text: &str) -> Option<(Self, u64)> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        let (stream, number) = text.split_once('.')?;
        let name = match stream.split_at_checked(1)? {
            ("p", stream) => Self::Posted(digits(stream)?),
            ("l", stream) => Self::Listening(digits(stream)?),
            _ => return None,
        };
        Some((name, digits(number)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_names_its_stream_and_its_place() {
        for name in [StreamName::Posted(7), StreamName::Listening(u64::MAX)] {
            let id = name.event_id(3);
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
            assert_eq!(StreamName::parse_event_id(&id), Some((name, 3)));
        }
        for text in
            ["", "p", "p1", "p1.", "p.1", "x1.1", "p+1.1", "p1.-1", "p1.1.1", "1.1", "é1.1", "p99999999999999999999.1"]
        {
            assert_eq!(StreamName::parse_event_id(text), None, "{text}");
        }
    }
}
