import ExampleKit
import HearthClient
import Observation

/// The weather of a city.
struct Weather: Hashable {
    let city: String
    /// A character or two that look like it.
    let symbol: String
    let description: String
    /// In degrees Celsius.
    let temperature: Double
    let at: Moment
}

extension Weather {
    init?(_ value: DatabaseValue) {
        guard let city = value["city"].string, let temperature = value["temperature"].double, let at = value["at"].int
        else { return nil }
        self.city = city
        self.temperature = temperature
        symbol = value["symbol"].string ?? ""
        description = value["description"].string ?? ""
        self.at = Moment(milliseconds: at)
    }

    /// As in `☀ Charlotte: clear sky, 21.5 °C`.
    var line: String { "\(symbol) \(city): \(description), \(temperature) °C" }
}

/// Knows the weather, which everybody may read.
@MainActor
@Observable
final class WeatherStation {
    private(set) var weather: Weather?

    private let place: DatabaseReference

    init(_ database: Database, city: String = "charlotte") {
        place = database.reference(withPath: "weather").child(city)
    }

    /// Keeps it up to date until the task is cancelled.
    ///
    /// - parameter changed: called with it, and again whenever it has changed.
    func follow(changed: @MainActor (Weather?) throws -> Void = { _ in }) async throws {
        for try await snapshot in place.values() {
            weather = Weather(snapshot.value)
            try changed(weather)
        }
    }
}
