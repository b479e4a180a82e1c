import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Observation

/// The weather of a city.
struct Weather: Codable, Hashable {
    let city: String
    /// A character or two that look like it.
    let symbol: String?
    let description: String?
    /// In degrees Celsius.
    let temperature: Double
    let at: DatabaseTimestamp
}

extension Weather {
    /// As in `☀ Charlotte: clear sky, 21.5 °C`.
    var line: String { "\(symbol ?? "") \(city): \(description ?? ""), \(temperature) °C" }
}

extension Line {
    /// The weather, if it is known.
    init(_ weather: Weather?) { self.init(weather?.line ?? "The weather is not known.") }
}

/// Knows the weather, which everybody may read.
@MainActor
@Observable
final class WeatherStation {
    private(set) var weather: Weather?
    /// Whether there is a connection.
    private(set) var isOnline = false

    private let database: Database
    private let place: DatabaseReference

    init(server: String, startsOnline: Bool = true, city: String = "charlotte") throws {
        var options = DatabaseOptions()
        options.startsOnline = startsOnline
        database = try Database(url: server, options: options)
        place = database.reference(withPath: "weather").child(city)
    }

    private func followConnection() async {
        for await state in database.connectionStates { isOnline = state == .connected }
    }

    /// Keeps it up to date until the task is cancelled.
    ///
    /// - parameter changed: called with it, and again whenever it has changed.
    func follow(changed: @MainActor (Weather?) throws -> Void = { _ in }) async throws {
        async let _ = followConnection()
        for try await snapshot in place.values() {
            weather = try? snapshot.data(as: Weather.self)
            try changed(weather)
        }
    }
}
