import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthTestSupport
import Testing

@testable import HearthAccountsWeather
@testable import HearthWeatherFeeder

@Suite("Weather feeder", .timeLimit(.minutes(15)))
@MainActor
struct WeatherFeederTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("AccountsWeather", rules: "accounts-weather") }

    @Test("writes what a file and what an address says, which everybody sees")
    func feed() async throws {
        let station = try WeatherStation(server: server.url)
        let feeder = try Feeder(server: server.url, keyFile: nil)
        // The server itself has a forecast in JSON at an address.
        var options = DatabaseOptions()
        options.tokenProvider = { _ in "owner" }
        let forecasts = try Database(url: server.url, options: options).reference(withPath: "weather/source")
        try await forecasts.setValue([
            "city": "Charlotte", "symbol": "❄", "description": "snow", "temperature": -3, "at": 1,
        ])
        try await alongside({ try await station.follow() }) {
            await until { station.weather?.line == "☀ Charlotte: clear sky, 21.5 °C" }
            _ = try await feeder.feed(from: "\(ExampleServer.project)/Examples/AccountsWeather/forecast.json")
            await until { station.weather?.line == "☂ Charlotte: light rain, 17.5 °C" }
            _ = try await feeder.feed(from: "\(server.url)/weather/source.json")
            await until { station.weather?.line == "❄ Charlotte: snow, -3.0 °C" }
        }
    }

    @Test("writes as an administrator with a key, and not without")
    func key() async throws {
        let server = try ExampleServer("AccountsWeather", rules: "accounts-weather", isDevelopment: false)
        let file = "\(ExampleServer.project)/Examples/AccountsWeather/forecast.json"
        let refused = try PseudoTerminal("hearth-weather-feeder", ["--server", server.url, file])
        #expect(try await refused.outcome() == 1)
        let words = ["--server=\(server.url)", "--key", try server.makeKey(), file]
        let feeder = try PseudoTerminal("hearth-weather-feeder", words)
        #expect(try await feeder.outcome() == 0, "\(feeder.screen.text)")
        let station = try WeatherStation(server: server.url)
        try await alongside({ try await station.follow() }) {
            await until { station.weather?.line == "☂ Charlotte: light rain, 17.5 °C" }
        }
    }

    @Test("keeps cities apart whatever their script is")
    func cities() async throws {
        let folder = TemporaryFolder()
        let feeder = try Feeder(server: server.url, keyFile: nil)
        for (city, key) in [("東京", "東京"), ("北京", "北京"), ("São Paulo", "são-paulo"), ("St. Ives/x", "st--ives-x")] {
            let file = folder.path + "/forecast"
            let text = #"{"city":"\#(city)","symbol":"x","description":"x","temperature":1}"#
            try write(text, to: file)
            #expect(try await feeder.feed(from: file).key == key)
            let station = try WeatherStation(server: server.url, city: key)
            try await alongside({ try await station.follow() }) { await until { station.weather?.city == city } }
        }
        let large = folder.path + "/large"
        try write(String(repeating: " ", count: 1 << 20) + "{}", to: large)
        let failure = await #expect(throws: Feeder.Failure.self) { try await feeder.feed(from: large) }
        #expect(failure?.description == "\(large) is larger than 1 MiB")
    }

    private func write(_ text: String, to path: String) throws {
        try SecretFile(path: path).replace(with: Array(text.utf8))
    }

    @Test("says what is wrong with a forecast")
    func forecasts() throws {
        #expect(
            try Forecast(Array(#"{"city":"New York","symbol":"","description":"","temperature":1}"#.utf8)).key
                == "new-york")
        for text in [
            "", "[]", "{}", #"{"city":"","symbol":"","description":"","temperature":1}"#,
            #"{"city":"x","symbol":"","description":"","temperature":"1"}"#,
        ] {
            let failure = #expect(throws: Forecast.Failure.self, "\(text)") { try Forecast(Array(text.utf8)) }
            #expect(failure?.description.hasPrefix("no forecast: ") == true, "\(text)")
        }
    }

    @Test("is a program: once, or again and again although the source is not there")
    func program() async throws {
        let file = "\(ExampleServer.project)/Examples/AccountsWeather/forecast.json"
        let once = try PseudoTerminal("hearth-weather-feeder", ["--server", server.url, file])
        #expect(try await once.outcome() == 0)
        #expect(once.screen.text.contains("Charlotte: light rain, 17.5 °C"))
        let missing = try PseudoTerminal("hearth-weather-feeder", ["--server", server.url, "/nowhere"])
        #expect(try await missing.outcome() == 1)
        #expect(missing.screen.text.contains("/nowhere cannot be read"))
        let wrong = try PseudoTerminal("hearth-weather-feeder", ["--every", "0", file])
        #expect(try await wrong.outcome() == 2)
        let every = try PseudoTerminal("hearth-weather-feeder", ["--server", server.url, "--every", "1", "/nowhere"])
        try await every.wait(for: "the second attempt") {
            $0.text.split(separator: "\n").count { $0.contains("cannot be read") } >= 2
        }
    }
}
