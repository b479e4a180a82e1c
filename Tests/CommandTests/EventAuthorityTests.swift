import HearthServerSupport
import HearthTestSupport
import Testing

@Suite("Events of a server's process") struct EventAuthorityTests {
    @Test("go directly to receivers that the authorities of the environment vouch for, and to no others")
    func authorities() async throws {
        let folder = TemporaryFolder()
        let known = try AnsweringPeer("HTTP/1.1 204 No Content\r\n\r\n", usesTLS: true)
        let stranger = try AnsweringPeer("HTTP/1.1 204 No Content\r\n\r\n", usesTLS: true)
        func trigger(_ name: String, _ peer: AnsweringPeer) -> String {
            #"{"name":"\#(name)","on":"created","url":"https://localhost:\#(peer.port)/\#(name)"}"#
        }
        let triggers = "[\(trigger("known", known)),\(trigger("stranger", stranger))]"
        let settings = folder.path + "/settings.json"
        TemporaryFolder.write(
            Array(#"{"settings":{"rooms":{"$room":{".trigger":\#(triggers)}}}}"#.utf8), to: settings)
        // Nobody listens at the proxy.
        let environment = [
            "SSL_CERT_FILE": known.certificate.certificateFile, "https_proxy": "http://127.0.0.1:1",
            "ALL_PROXY": "http://127.0.0.1:1",
        ]
        let server = try await ServerProcess(
            folder.path + "/data", "--settings", settings, environment: environment)
        let url = "http://\(server.address)"
        let put = try await HearthProcess.run("import", "\(url)/rooms/a", "-", input: "1")
        #expect(put.code == 0, "\(put)")
        try await eventually("the event") { known.firstRequest?.hasPrefix("POST /known HTTP/1.1\r\n") == true }
        try await eventually("the refusal") {
            let list = try await HearthProcess.run("triggers", "--url", url)
            return list.output.contains("verify the certificate")
        }
        #expect(stranger.requests.isEmpty)
    }
}
