//! What stands between a policy's request and the network.

use std::sync::Arc;

use http::Request;
use http_body_util::{BodyExt as _, Full, Limited};
use wasmtime_wasi::WasiCtxView;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

use super::Client;
use crate::state::State;

/// Bytes that the header fields of one message may take, as the library counts them.
const FIELDS: usize = 64 * 1024;

/// Chunks of a request's body that may wait until it is sent: more than a look-up has, so that a policy may write its body
/// before it sends the request, as some tool chains do.
const CHUNKS: usize = 16;

/// What a guest with the capability has in its store.
pub(crate) struct Http {
    context: WasiHttpCtx,
    hooks: Hooks,
}

/// While configuring there is no client, and nothing is sent: settings and packs have to be enough.
#[derive(Default)]
struct Hooks {
    client: Option<Arc<Client>>,
    left: u32,
}

impl Http {
    pub(crate) fn new() -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(FIELDS);
        Self { context, hooks: Hooks::default() }
    }

    /// Starts an evaluation: with its own share of requests, or with none.
    pub(crate) fn begin(&mut self, client: Option<&Arc<Client>>) {
        self.hooks.left = client.map_or(0, |client| client.grant().requests);
        self.hooks.client = client.map(Arc::clone);
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let Self { inert, http, .. } = self;
        let http = http.get_or_insert_with(|| Box::new(Http::new()));
        let inert = inert.get_or_insert_with(Box::default);
        let WasiCtxView { table, .. } = inert.view();
        WasiHttpCtxView { hooks: &mut http.hooks, table, ctx: &mut http.context }
    }
}

type Sent = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for Hooks {
    fn set_host_header(&mut self) -> bool {
        // The client writes it from the URL that was checked.
        false
    }

    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        CHUNKS
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        _options: Option<RequestOptions>,
        _processing: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let Some(client) = self.client.clone().filter(|_| self.left > 0) else {
            return Box::new(std::future::ready(Err(Error::HttpRequestDenied)));
        };
        self.left -= 1;
        Box::new(async move {
            // What the policy asks of times can only be shorter, and then it can stop waiting itself.
            let limit = client.grant().timeout;
            tokio::time::timeout(limit, send(&client, request)).await.unwrap_or(Err(Error::ConnectionTimeout))
        })
    }
}

async fn send(client: &Client, request: Request<WasiBody>) -> Sent {
    let most = client.grant().request_bytes;
    let (parts, body) = request.into_parts();
    // It ends where the guest ends it, or at the limit of time.
    let body = Limited::new(body, most).collect().await;
    let body = body.map_err(|_too_large| Error::HttpRequestBodySize(u64::try_from(most).ok()))?.to_bytes();
    let answer = client.send(Request::from_parts(parts, body)).await?;
    let answer = answer.map(|bytes| Full::new(bytes).map_err(|never| match never {}).boxed_unsync());
    Ok((answer, Box::new(std::future::ready(Ok(())))))
}
