import HearthEventLoop
import HearthJSONValues
import HearthShell
import HearthAccess

extension Command {
    static let health = Command(
        name: "health", synopsis: "[OPTIONS]", summary: "Ask a server whether it is ready, for scripts and containers.",
        json: #"{"url", "ready": BOOL, "text"}."#,
        details: """
            Prints what /readyz says. Ends with 1 if the server is not ready, and with 69 if it does not answer.
            """,
        options: [
            .init(name: "url", value: "URL", help: "the server (default: the one that runs on --data)"),
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(name: "ca", value: "FILE", help: "the authorities to trust over TLS, as PEM (default: the system's)"),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let output = try ProgramOutput(arguments)
        let url = arguments["url"] ?? (AdminURL(in: arguments["data"] ?? "./data") ?? .usual).text
        guard let address = DoctorProbe.Address(url) else {
            throw UsageError(message: "--url must be like http://127.0.0.1:9000, not '\(url)'")
        }
        func show(_ text: String, isReady: Bool) {
            output.show(JSONObject(["url": .text(url), "ready": .bool(isReady), "text": .text(text)]), [text])
        }
        do throws(WaitingConnection.Failure) {
            let authorities = arguments["ca"]
            let probe =
                arguments["url"] == nil
                ? DoctorProbe(serverOf: address, authorities: authorities)
                : DoctorProbe(address, .init(authorities: authorities))
            let answer = try probe.get("/readyz")
            show(answer.text.trimmed, isReady: answer.status == 200)
            return answer.status == 200 ? .success : .failure
        } catch {
            StandardError.write("hearth health: \(url): \(error)\n")
            return .unavailable
        }
    }
}
