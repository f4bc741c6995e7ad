use super::*;

fn client(hosts: &[&str]) -> Client {
    let hosts = hosts.iter().map(|host| HttpOrigin::parse(host).unwrap()).collect();
    Client::new(HttpGrant { hosts, ..HttpGrant::default() })
}

fn request(url: &str) -> Request<Bytes> {
    Request::builder().uri(url).body(Bytes::new()).unwrap()
}

#[test]
fn only_what_the_grant_names_is_reached_however_it_is_written() {
    let client = client(&["api.osv.dev", "http://127.0.0.1:8080"]);
    for url in ["https://api.osv.dev/v1/query?a=b", "https://API.osv.dev:443", "http://127.0.0.1:8080/"] {
        assert!(client.vetted(&request(url)).is_ok(), "{url}");
    }
    for url in [
        "http://api.osv.dev/",
        "https://api.osv.dev:8443/",
        "https://user@api.osv.dev/",
        "https://api.osv.dev@example.com/",
        "https://example.com/",
        "http://127.0.0.1/",
        "http://127.0.0.2:8080/",
        "https://127.0.0.1:8080/",
        "http://[::1]:8080/",
    ] {
        assert!(client.vetted(&request(url)).is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_connected_to() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://localhost:{}", listener.local_addr().unwrap().port());
    let refused = client(&[&origin]).send(request(&origin)).await.unwrap_err();
    assert!(matches!(refused, Error::DestinationIpProhibited), "{refused:?}");
    let accepted = std::future::poll_fn(|context| std::task::Poll::Ready(listener.poll_accept(context))).await;
    assert!(accepted.is_pending(), "something connected");
}
