import HearthExampleKit
import HearthExampleTerminal

/// The feeder: once, or again and again.
let feederProgram = Program(
    .init(
        "hearth-weather-feeder SOURCE",
        "Reads a forecast in JSON from a file or an HTTP address, and writes it to a Hearth database."
    ) { call in
        let every = try pause(call)
        let feeder = try Feeder(server: call.server, keyFile: call["key"])
        while true {
            do {
                let forecast = try await feeder.feed(from: call.required("SOURCE"))
                say("\(forecast.city): \(forecast.description), \(String(forecast.temperature)) °C")
            } catch {
                guard every != nil else { throw error }
                // The next time may be better.
                complain("hearth-weather-feeder: \(error)")
            }
            guard let every else { break }
            try await Task.sleep(for: every)
        }
    },
    options: [
        .init("server", "URL", "the database", usual: "http://127.0.0.1:9000"),
        .init("key", "FILE", "the key of a service account; a server in development mode needs none"),
        .init("every", "SECONDS", "reads and writes again and again, until it is ended"),
    ])

private func pause(_ call: Call) throws(WrongCall) -> Duration? {
    guard let text = call["every"] else { return nil }
    guard let seconds = Int(text), (1...1_000_000).contains(seconds) else {
        throw WrongCall("--every takes a number of seconds")
    }
    return .seconds(seconds)
}
