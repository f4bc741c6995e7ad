//! The one function that every policy may import.

use wasmtime::component::Linker;

use crate::v0_1::generated::portcullis::policy::{log, types};

/// How much a line of a policy matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// For the author.
    Debug,
    /// For the curious.
    Info,
    /// Something is odd.
    Warn,
    /// Something is wrong.
    Error,
}

/// Where the lines of a policy go. The implementation bounds them; an error ends the evaluation.
pub trait LogSink {
    /// Takes one line.
    fn write(&mut self, level: Level, message: &str) -> wasmtime::Result<()>;
}

struct View<'a, T>(&'a mut T);

struct HasView<T>(std::marker::PhantomData<T>);

impl<T: 'static> wasmtime::component::HasData for HasView<T> {
    type Data<'a> = View<'a, T>;
}

impl<T: LogSink> log::Host for View<'_, T> {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Debug => Level::Debug,
            log::Level::Info => Level::Info,
            log::Level::Warn => Level::Warn,
            log::Level::Error => Level::Error,
        };
        self.0.write(level, &message)
    }
}

impl<T> types::Host for View<'_, T> {}

/// Links what line 0.1 offers to policies: `types`, which has no functions, and `log`.
pub(crate) fn add_to_linker<T: LogSink + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    types::add_to_linker::<T, HasView<T>>(linker, |data| View(data))?;
    log::add_to_linker::<T, HasView<T>>(linker, |data| View(data))
}
