// swift-tools-version: 6.2
import PackageDescription

/// The module in a folder. Names of modules are unique among all packages of a program, so each begins with `Hearth`, or
/// `CHearth` if it is in C. Folders, and the lists in this file, go without that.
func module(_ folder: String) -> String {
    if folder.hasPrefix("Hearth") || folder == "hearth" { return folder }
    return cFolders.contains(folder) ? "CHearth\(folder.dropFirst())" : "Hearth\(folder)"
}

let cFolders: Set = [
    "CLinux", "CConsole", "CBench", "CSQLite", "COpenSSL", "CZlib", "CCrypt", "CLibedit", "CCurl", "CNghttp2",
    "CFaults",
]

/// One module. A module may use only modules above it in `rooms`, so the import direction is checked when the manifest
/// is read.
struct Room {
    var name: String
    var uses: [String] = []
    /// The conditions of dependencies; those not named here are unconditional.
    var conditions: [String: TargetDependencyCondition?] = [:]
    /// Further modules for its tests, which may use any module, and `TestSupport`.
    var testsUse: [String]? = []
}

let rooms: [Room] = [
    Room(name: "Bytes"),
    // The few system-dependent parts that clients need.
    Room(name: "Platform", testsUse: nil),
    Room(name: "System", uses: ["CLinux", "Platform"], testsUse: ["EventLoop"]),
    Room(name: "JSONTree", uses: ["Bytes"], testsUse: ["TreeText"]),
    // Operations on trees that only databases need: the text of large values, and queries.
    Room(name: "TreeText", uses: ["Bytes", "JSONTree"]),
    Room(name: "TreeQueries", uses: ["JSONTree"]),
    Room(name: "JSONPieces", uses: ["Bytes", "JSONTree"]),
    Room(name: "WebSocketCodec", uses: ["Bytes", "CZlib"], testsUse: ["ServerCodecs"]),
    Room(name: "HTTPCodec", uses: ["Bytes"]),
    // The server's halves of both, which clients do not need.
    Room(name: "ServerCodecs", uses: ["WebSocketCodec", "HTTPCodec", "CZlib"]),
    // Its tests are those of the server's half, where each half reads what the other one writes.
    Room(name: "WireProtocol", uses: ["Bytes", "JSONTree"], testsUse: nil),
    Room(name: "ServerProtocol", uses: ["Bytes", "JSONTree", "TreeText", "TreeQueries", "WireProtocol"]),
    Room(name: "JSONValues", uses: ["Bytes", "JSONTree"]),
    Room(name: "JSONWebTokens", uses: ["Bytes", "JSONValues", "COpenSSL"]),
    Room(name: "SecurityRules", uses: ["Bytes", "JSONTree", "TreeText", "TreeQueries"]),
    Room(name: "EventLoop", uses: ["System", "CLinux", "COpenSSL"]),
    // Requests to other servers, and mails, with libcurl.
    Room(name: "Fetching", uses: ["CCurl", "CLinux", "System", "EventLoop"]),
    // How clients reach a server: the seam, a network in memory for tests, and the event loop.
    Room(name: "ClientTransport", testsUse: nil),
    Room(name: "MemoryTransport", uses: ["ClientTransport"]),
    Room(name: "EventLoopTransport", uses: ["System", "EventLoop", "ClientTransport"]),
    // Requests and answers over a transport, without other system calls.
    Room(
        name: "ClientSession",
        uses: ["JSONTree", "WebSocketCodec", "HTTPCodec", "WireProtocol", "JSONValues", "ClientTransport"],
        testsUse: ["ServerProtocol"]),
    Room(name: "EtcdMessages"),
    Room(name: "EtcdGateway", uses: ["System", "EtcdMessages", "HTTPCodec", "EventLoop", "CNghttp2"]),
    Room(name: "StorageErrors", testsUse: nil),
    Room(name: "SQLite", uses: ["StorageErrors", "CSQLite"], testsUse: nil),
    // Identity, format and checksums, which the files of trees, logs and accounts have in common.
    Room(name: "ServerFiles", uses: ["CLinux", "StorageErrors", "SQLite"], testsUse: nil),
    Room(
        name: "RealtimeDatabase",
        uses: ["Bytes", "JSONTree", "TreeText", "TreeQueries", "SecurityRules", "StorageErrors"],
        // The simulator runs databases under the scheduler, for sessions with their order of requests.
        testsUse: ["DatabaseScheduler", "Delivery"]),
    // Cases for rules and settings, run on a database in memory.
    Room(
        name: "RulesTesting",
        uses: [
            "JSONTree", "TreeText", "TreeQueries", "WireProtocol", "SecurityRules", "StorageErrors", "RealtimeDatabase",
        ]),
    Room(
        name: "DatabaseScheduler", uses: ["JSONTree", "SecurityRules", "StorageErrors", "RealtimeDatabase"]),
    Room(
        name: "ReplicatedLog", uses: ["EtcdMessages", "RealtimeDatabase", "CZlib"],
        testsUse: ["EventLoop", "EtcdGateway"]),
    Room(
        name: "TreeStorage",
        uses: [
            "Bytes", "JSONTree", "TreeText", "JSONWebTokens", "SecurityRules", "StorageErrors", "RealtimeDatabase",
            "DatabaseScheduler", "SQLite", "CSQLite", "ServerFiles",
        ],
        testsUse: ["System", "TreeQueries"]),
    Room(
        name: "ClusterNode",
        uses: [
            "System", "JSONTree", "TreeText", "JSONValues", "JSONWebTokens", "SecurityRules", "EventLoop",
            "EtcdMessages",
            "EtcdGateway", "StorageErrors", "RealtimeDatabase", "DatabaseScheduler", "ReplicatedLog", "TreeStorage",
        ]),
    Room(
        name: "Identity",
        uses: [
            "Bytes", "System", "JSONValues", "JSONWebTokens", "StorageErrors", "SQLite", "CSQLite", "ServerFiles",
            "COpenSSL", "CCrypt",
        ],
        testsUse: ["JSONTree"]),
    Room(name: "ServerLog", uses: ["System", "JSONValues"], testsUse: nil),
    Room(
        name: "Delivery",
        uses: [
            "System", "JSONTree", "TreeText", "TreeQueries", "ServerCodecs", "WireProtocol", "ServerProtocol",
            "JSONValues", "SecurityRules", "EventLoop", "StorageErrors", "RealtimeDatabase",
        ], testsUse: nil),
    Room(
        name: "Triggers",
        uses: [
            "Bytes", "System", "JSONTree", "JSONValues", "JSONWebTokens", "SecurityRules", "EventLoop", "Fetching",
            "StorageErrors", "RealtimeDatabase", "DatabaseScheduler", "TreeStorage", "ServerLog",
        ], testsUse: ["SQLite"]),
    Room(
        name: "DatabaseHost",
        uses: [
            "System", "JSONTree", "TreeText", "TreeQueries", "WireProtocol", "ServerProtocol", "JSONValues",
            "SecurityRules", "EventLoop", "StorageErrors", "RealtimeDatabase", "DatabaseScheduler", "TreeStorage",
            "ClusterNode", "ServerLog", "Delivery", "Triggers",
        ], testsUse: nil),
    Room(
        name: "Access",
        uses: [
            "System", "JSONTree", "HTTPCodec", "ServerCodecs", "JSONValues", "JSONWebTokens", "SecurityRules",
            "EventLoop", "Fetching", "RealtimeDatabase", "Identity", "ServerLog",
        ], testsUse: nil),
    Room(name: "HTTPResponses", uses: ["System", "JSONTree", "HTTPCodec", "ServerCodecs"], testsUse: nil),
    Room(
        name: "REST",
        uses: [
            "Bytes", "JSONTree", "TreeText", "TreeQueries", "HTTPCodec", "ServerCodecs", "WireProtocol",
            "ServerProtocol", "JSONValues", "SecurityRules", "StorageErrors", "RealtimeDatabase", "RulesTesting",
            "Delivery", "DatabaseHost", "HTTPResponses",
        ], testsUse: nil),
    Room(
        name: "AccountEndpoints",
        uses: [
            "Bytes", "System", "HTTPCodec", "ServerCodecs", "JSONValues", "JSONWebTokens", "SecurityRules", "EventLoop",
            "Fetching", "StorageErrors", "Identity", "ServerLog", "Access", "HTTPResponses",
        ], testsUse: nil),
    Room(
        name: "ClusterSharing",
        uses: [
            "Bytes", "System", "JSONTree", "JSONValues", "JSONWebTokens", "SecurityRules", "StorageErrors",
            "RealtimeDatabase", "TreeStorage", "ClusterNode", "Identity", "ServerLog", "DatabaseHost", "Access",
        ], testsUse: nil),
    Room(
        name: "Backups",
        uses: [
            "Bytes", "System", "JSONValues", "JSONWebTokens", "StorageErrors", "TreeStorage", "Identity", "ServerLog",
        ], testsUse: nil),
    Room(
        name: "RealtimeSessions",
        uses: [
            "Bytes", "System", "JSONTree", "WebSocketCodec", "HTTPCodec", "ServerCodecs", "WireProtocol",
            "ServerProtocol", "JSONValues", "EventLoop", "StorageErrors", "RealtimeDatabase", "DatabaseScheduler",
            "TreeStorage", "Identity", "ServerLog", "Delivery", "DatabaseHost", "Access",
        ], testsUse: nil),
    Room(
        name: "Administration",
        uses: [
            "Bytes", "System", "JSONTree", "HTTPCodec", "ServerCodecs", "ServerProtocol", "JSONValues", "SecurityRules",
            "EventLoop", "StorageErrors", "RealtimeDatabase", "DatabaseScheduler", "TreeStorage", "Identity",
            "ServerLog", "Delivery", "Triggers", "DatabaseHost", "Access", "HTTPResponses", "REST", "AccountEndpoints",
            "ClusterSharing", "Backups", "RealtimeSessions",
        ], testsUse: nil),
    Room(
        name: "HTTPConnections",
        uses: [
            "Bytes", "System", "JSONTree", "HTTPCodec", "ServerCodecs", "WireProtocol", "ServerProtocol", "JSONValues",
            "JSONWebTokens", "EventLoop", "StorageErrors", "RealtimeDatabase", "TreeStorage", "Identity", "ServerLog",
            "Delivery", "DatabaseHost", "Access", "HTTPResponses", "REST", "AccountEndpoints", "RealtimeSessions",
            "Administration", "CConsole", "CZlib",
        ], testsUse: nil),
    Room(
        name: "HearthServer",
        uses: [
            "System", "JSONTree", "JSONValues", "SecurityRules", "EventLoop", "Fetching", "EtcdGateway",
            "StorageErrors", "RealtimeDatabase", "DatabaseScheduler", "TreeStorage", "ClusterNode", "Identity",
            "ServerLog", "Delivery", "Triggers", "DatabaseHost", "Access", "AccountEndpoints", "ClusterSharing",
            "Backups", "RealtimeSessions", "Administration", "HTTPConnections",
        ],
        testsUse: [
            "Bytes", "TreeText", "TreeQueries", "WebSocketCodec", "HTTPCodec", "ServerCodecs", "WireProtocol",
            "ServerProtocol", "JSONWebTokens", "EtcdMessages", "ReplicatedLog", "HTTPResponses", "REST",
            "SQLite", "ServerSupport",
        ]),
    // For commands: one connection that does not come back, import and download, keys of administrators' programs.
    Room(
        name: "Connection",
        uses: [
            "Platform", "JSONTree", "JSONPieces", "HTTPCodec", "ServerCodecs", "WireProtocol", "ServerProtocol",
            "JSONValues", "JSONWebTokens", "ClientTransport", "ClientSession",
        ], testsUse: nil),
    Room(
        name: "HearthClient",
        uses: [
            "Bytes", "Platform", "JSONTree", "HTTPCodec", "WireProtocol", "JSONValues", "ClientTransport",
            "EventLoopTransport", "ClientSession", "StorageErrors", "SQLite",
        ],
        conditions: [
            "EventLoopTransport": .when(platforms: [.linux]), "StorageErrors": .when(traits: ["Persistence"]),
            "SQLite": .when(traits: ["Persistence"]),
        ],
        testsUse: [
            "ServerSupport", "System", "WebSocketCodec", "ServerCodecs", "ServerProtocol", "JSONWebTokens", "EventLoop",
            "MemoryTransport", "Connection", "RealtimeDatabase", "TreeStorage", "ServerLog", "RealtimeSessions",
            "HearthServer", "AccountEndpoints", "Identity",
        ]),
    Room(
        name: "HearthAdmin",
        uses: [
            "System", "HTTPCodec", "ServerProtocol", "JSONValues", "JSONWebTokens", "EventLoop", "EventLoopTransport",
            "ClientSession", "Connection", "HearthClient",
        ],
        testsUse: [
            "Bytes", "Triggers", "Identity", "ServerLog", "HearthServer", "AccountEndpoints", "TreeStorage",
            "ServerSupport",
        ]),
    // A server in the process of a test, for packages that depend on this one.
    Room(
        name: "HearthTesting",
        uses: ["EventLoop", "TreeStorage", "Identity", "ServerLog", "AccountEndpoints", "HearthServer"],
        testsUse: ["HearthClient", "HearthAdmin"]),
    // A small HTTP server and client, for services in front of a database.
    Room(
        name: "HearthHTTP",
        uses: ["System", "HTTPCodec", "ServerCodecs", "EventLoop", "EventLoopTransport", "ClientSession"],
        testsUse: ["HearthClient", "HearthAdmin", "HearthTesting"]),
    // Texts that servers cannot read.
    Room(name: "HearthSealing", uses: ["Bytes", "COpenSSL"], testsUse: ["HearthClient"]),
    Room(
        name: "HearthShell",
        uses: [
            "Bytes", "System", "JSONTree", "WireProtocol", "ServerProtocol", "JSONValues", "JSONWebTokens",
            "SecurityRules", "EventLoop", "RealtimeDatabase", "RulesTesting", "EventLoopTransport", "ClientSession",
            "Connection", "HearthClient", "HearthAdmin", "CLibedit",
        ],
        testsUse: ["TreeStorage", "Identity", "ServerLog", "HearthServer", "AccountEndpoints", "ServerSupport"]),
    Room(
        name: "HearthBench",
        uses: [
            "CLinux", "CBench", "System", "JSONTree", "WebSocketCodec", "HTTPCodec", "ServerCodecs", "SecurityRules",
            "EventLoop", "EtcdMessages", "EtcdGateway", "ReplicatedLog", "HearthClient",
        ]),
    // What the fuzzing package calls, which cannot see `package` names: see Fuzz/README.md.
    Room(
        name: "HearthFuzzing",
        uses: [
            "Bytes", "JSONTree", "TreeText", "JSONPieces", "WebSocketCodec", "HTTPCodec", "ServerCodecs",
            "WireProtocol",
            "ServerProtocol", "JSONValues", "JSONWebTokens", "SecurityRules", "EtcdMessages", "RealtimeDatabase",
            "RulesTesting", "ReplicatedLog", "EventLoop", "TreeStorage", "ClusterNode", "Identity", "ServerLog",
            "Delivery", "AccountEndpoints", "REST", "HearthServer",
        ]),
]

/// Programs that a user of the package could write: they use only public API. Each has a folder in `Examples`, with its
/// tests in `Tests/ExampleTests`.
let examples = ["Notebooks", "StudyPlaces", "Todo"]
/// Those that write their seed themselves, and so have it in the program.
let seedingExamples: Set = ["StudyPlaces"]

/// As in `hearth-study-places`.
func programName(_ example: String) -> String {
    "hearth" + example.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
}

for (index, room) in rooms.enumerated() {
    let above = Set(rooms[..<index].map(\.name)).union(cFolders)
    precondition(above.isSuperset(of: room.uses), "\(room.name) imports a room that stands below it")
}

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

func dependencies(
    _ folders: [String], _ conditions: [String: TargetDependencyCondition?] = [:]
) -> [Target.Dependency] {
    folders.map { .target(name: module($0), condition: conditions[$0] ?? nil) }
}

let exampleTargets: [Target] =
    examples.map { name in
        .executableTarget(
            name: module(name), dependencies: dependencies(["HearthClient", "ExampleKit", "ExampleTerminal"]),
            path: "Examples/\(name)",
            exclude: ["README.md", "demo"] + (seedingExamples.contains(name) ? [] : ["seed.json"]),
            resources: seedingExamples.contains(name) ? [.embedInCode("seed.json")] : [],
            packageAccess: false, swiftSettings: settings)
    } + [
        .target(
            name: module("ExampleTerminal"), dependencies: ["HearthClient"], path: "Examples/ExampleTerminal",
            packageAccess: false, swiftSettings: settings),
        .target(
            name: module("ExampleKit"), dependencies: dependencies(["HearthClient", "ExampleTerminal"]),
            path: "Examples/ExampleKit", packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "ExampleTests",
            dependencies: dependencies(
                examples + [
                    "Hello", "Chat", "Threads", "ThreadsService", "AccountsWeather", "WeatherFeeder", "ExampleKit",
                    "ExampleTerminal",
                    "TestSupport", "ServerSupport",
                    "HearthClient", "ServerLog", "HearthServer", "AccountEndpoints",
                    "HearthAdmin", "HearthHTTP", "HearthSealing", "Identity",
                    "System", "EventLoop", "TreeStorage", "HTTPCodec", "JSONValues", "JSONWebTokens",
                ]),
            swiftSettings: settings),
    ]

/// Modules that tests of servers and programs may use, in addition to those of their own support.
let serverTestsUse = [
    "Bytes", "System", "JSONTree", "HTTPCodec", "ServerCodecs", "WebSocketCodec", "WireProtocol", "ServerProtocol",
    "JSONValues", "JSONWebTokens", "EventLoop", "ClientTransport", "MemoryTransport", "EventLoopTransport",
    "ClientSession", "Connection", "SQLite", "TreeStorage", "ServerLog", "HearthServer", "HearthClient", "TestSupport",
]

/// A service in front of the database, and its client, which knows the service alone.
let threadsTargets: [Target] = [
    .executableTarget(
        name: module("ThreadsService"),
        dependencies: dependencies(["HearthClient", "HearthAdmin", "HearthHTTP", "ExampleKit", "ExampleTerminal"]),
        path: "Examples/Threads/Service", packageAccess: false,
        swiftSettings: settings),
    .executableTarget(
        name: module("Threads"),
        dependencies: dependencies(["HearthClient", "HearthHTTP", "ExampleKit", "ExampleTerminal"]),
        path: "Examples/Threads/Client", packageAccess: false, swiftSettings: settings),
]

/// Programs of one file, and the products whose public API they use.
let smallExamples = [
    ("Hello", ["HearthClient"]), ("Chat", ["HearthClient"]), ("Backend", ["HearthClient", "HearthAdmin"]),
    ("Shop", ["HearthClient"]), ("Mailer", ["HearthClient"]), ("Whispers", ["HearthClient"]),
    ("Names", ["HearthClient"]), ("Receipts", ["HearthClient", "HearthHTTP"]),
]
let smallTargets: [Target] = smallExamples.map { name, uses in
    .executableTarget(
        name: module(name), dependencies: dependencies(uses), path: "Examples/\(name)", exclude: ["README.md"],
        packageAccess: false, swiftSettings: settings)
}

/// Accounts that are sealed before they are sent, and a program that feeds the weather.
let weatherTargets: [Target] = [
    .executableTarget(
        name: module("AccountsWeather"),
        dependencies: dependencies(["HearthClient", "HearthSealing", "ExampleKit", "ExampleTerminal"]),
        path: "Examples/AccountsWeather/Client", packageAccess: false, swiftSettings: settings),
    .executableTarget(
        name: module("WeatherFeeder"),
        dependencies: dependencies(["HearthClient", "HearthAdmin", "HearthHTTP", "ExampleKit", "ExampleTerminal"]),
        path: "Examples/AccountsWeather/Feeder", packageAccess: false, swiftSettings: settings),
]

/// For the package in `Fuzz` alone: `Fuzz/run` sets the variable.
let fuzzingProducts: [Product] =
    Context.environment["HEARTH_FUZZING"] == nil ? [] : [.library(name: "HearthFuzzing", targets: ["HearthFuzzing"])]

let package = Package(
    name: "hearth",
    // What the client needs of the Swift library. It has been built on Linux only.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "HearthClient", targets: ["HearthClient", module("ClientTransport")]),
        .library(name: "HearthAdmin", targets: ["HearthAdmin"]),
        .library(name: "HearthHTTP", targets: ["HearthHTTP"]),
        .library(name: "HearthSealing", targets: ["HearthSealing"]),
        .library(name: "HearthTesting", targets: ["HearthTesting", module("MemoryTransport")]),
        .executable(name: "hearth", targets: ["hearth"]),
        .executable(name: "hearth-threads-service", targets: [module("ThreadsService")]),
        .executable(name: "hearth-threads", targets: [module("Threads")]),
        .executable(name: "hearth-accounts-weather", targets: [module("AccountsWeather")]),
        .executable(name: "hearth-weather-feeder", targets: [module("WeatherFeeder")]),
    ] + (examples + smallExamples.map(\.0)).map { .executable(name: programName($0), targets: [module($0)]) }
        + fuzzingProducts,
    traits: [
        .trait(name: "Persistence", description: "HearthClient keeps values and writes in a SQLite file."),
        .default(enabledTraits: ["Persistence"]),
    ],
    targets: [
        .target(name: module("CLinux"), path: "Sources/CLinux", cSettings: [.define("_GNU_SOURCE")]),
        .target(
            name: module("CBench"), path: "Sources/CBench", cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("sqlite3")]),
        // The console's files in the program: a C compiler takes them in at no cost.
        .target(name: module("CConsole"), path: "Sources/CConsole", exclude: ["assets"]),
        .target(name: module("CCurl"), path: "Sources/CCurl", cSettings: [.define("_GNU_SOURCE")]),
        .systemLibrary(name: module("CSQLite"), path: "Sources/CSQLite"),
        .systemLibrary(name: module("COpenSSL"), path: "Sources/COpenSSL"),
        .systemLibrary(name: module("CZlib"), path: "Sources/CZlib"),
        .systemLibrary(name: module("CNghttp2"), path: "Sources/CNghttp2"),
        .systemLibrary(name: module("CCrypt"), path: "Sources/CCrypt"),
        .systemLibrary(name: module("CLibedit"), path: "Sources/CLibedit"),
        .target(name: module("CFaults"), path: "Tests/CFaults", cSettings: [.define("_GNU_SOURCE")]),
        // Checks the texts of the repository, and so needs none of its modules.
        .testTarget(name: "TidyTests", swiftSettings: settings),
        .target(
            name: module("TestSupport"),
            dependencies: dependencies([
                "HTTPCodec", "ServerCodecs", "System", "JSONTree", "TreeText", "JSONValues", "JSONWebTokens",
                "EventLoop", "CLinux", "COpenSSL", "CFaults",
            ]),
            path: "Tests/TestSupport",
            swiftSettings: settings),
        // Servers, in the process of a test and in processes of their own, and the programs that test them.
        .target(
            name: module("ServerSupport"),
            dependencies: dependencies(serverTestsUse + ["Delivery", "Triggers", "RealtimeSessions"]),
            path: "Tests/ServerSupport",
            swiftSettings: settings),
        // The commands of the program, each run as a process.
        .testTarget(
            name: "CommandTests",
            dependencies: dependencies(
                ["ServerSupport", "EtcdGateway", "ReplicatedLog", "ClusterNode", "DatabaseHost"] + serverTestsUse),
            swiftSettings: settings),
        // Processes as a whole: crashes, full disks, clusters, and the software of others.
        .testTarget(
            name: "WholeSystemTests",
            dependencies: dependencies(
                ["ServerSupport", "Platform", "EtcdMessages", "EtcdGateway", "ReplicatedLog"] + serverTestsUse),
            swiftSettings: settings),
        .executableTarget(
            name: "hearth",
            dependencies: dependencies([
                "System", "JSONTree", "HTTPCodec", "JSONValues", "EventLoop", "EtcdGateway", "StorageErrors",
                "DatabaseScheduler", "ReplicatedLog", "TreeStorage", "ClusterNode", "Identity", "ServerLog", "Triggers",
                "DatabaseHost",
                "Access", "AccountEndpoints", "Backups", "RealtimeSessions", "EventLoopTransport", "ClientSession",
                "Connection", "HearthServer", "HearthShell", "HearthBench",
            ]),
            swiftSettings: settings,
            // With Swift's runtime in it, the binary needs no toolchain where it runs, and calls of the runtime are
            // cheaper.
            linkerSettings: [.unsafeFlags(["-static-stdlib"], .when(platforms: [.linux], configuration: .release))]),
    ]
        + smallTargets + exampleTargets + threadsTargets + weatherTargets
        + rooms.map {
            .target(
                name: module($0.name), dependencies: dependencies($0.uses, $0.conditions), path: "Sources/\($0.name)",
                swiftSettings: settings)
        }
        + rooms.compactMap { room in
            room.testsUse.map { extra in
                .testTarget(
                    name: "\(room.name)Tests",
                    dependencies: dependencies([room.name, "TestSupport"] + room.uses + extra),
                    swiftSettings: settings)
            }
        }
)

/// `scripts/test-sanitized` and `scripts/test-release` name the targets of their tests, and build only their dependencies.
/// In an optimised build, the tests themselves are not optimised: only what they test is of interest. Files of tests that
/// need names which are internal to a module are left out of it: their paths are in `HEARTH_TESTS_WITHOUT`.
if let names = Context.environment["HEARTH_TESTS"] {
    var needed = Set(names.split(separator: " ").map(String.init))
    var count = 0
    while needed.count > count {
        count = needed.count
        for target in package.targets where needed.contains(target.name) {
            for case .targetItem(let name, _) in target.dependencies { needed.insert(name) }
        }
    }
    let withoutFiles = Context.environment["HEARTH_TESTS_WITHOUT"]?.split(separator: " ") ?? []
    package.products = []
    package.targets.removeAll { !needed.contains($0.name) }
    for target in package.targets where target.type == .test {
        target.swiftSettings?.append(.unsafeFlags(["-Onone"], .when(configuration: .release)))
        target.exclude += withoutFiles.compactMap { file in
            file.hasPrefix("Tests/\(target.name)/") ? String(file.dropFirst("Tests/\(target.name)/".count)) : nil
        }
    }
}
