// swift-tools-version: 6.2
import PackageDescription

/// One program for each public function of `HearthFuzzing`: the target `HTTPRequests` calls `fuzzHTTPRequests` and
/// starts from the files in `Corpus/HTTPRequests`.
let names = [
    "HTTPRequests", "HTTPResponses", "EventStreams", "WebSocketFrames", "JSONValues", "Paths", "WireMessages", "Tokens",
    "RulesFiles", "RulesTests", "SettingsFiles", "RESTRequests", "MultipartForms", "ServerMessages", "PeerMessages",
    "EtcdReplies", "AccountRequests", "AdminMessages",
]

let package = Package(
    name: "hearth-fuzz",
    dependencies: [.package(name: "hearth", path: "..")],
    targets: (names + ["Canary"]).map { name in
        .executableTarget(
            name: name,
            dependencies: name == "Canary" ? [] : [.product(name: "HearthFuzzing", package: "hearth")],
            // The fuzzer's runtime brings `main`.
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-parse-as-library"])])
    }
)
