// swift-tools-version: 6.2
import PackageDescription

/// A package of somebody else that depends on Hearth: it sees the products, and what is public in them. Built and run by
/// `scripts/test-outside`.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "outside",
    dependencies: [.package(name: "hearth", path: "../..")],
    targets: [
        .executableTarget(
            name: "Visitor", dependencies: [.product(name: "HearthClient", package: "hearth")],
            swiftSettings: settings),
        .executableTarget(
            name: "Office",
            dependencies: [
                .product(name: "HearthAdmin", package: "hearth"), .product(name: "HearthClient", package: "hearth"),
            ], swiftSettings: settings),
    ]
)
