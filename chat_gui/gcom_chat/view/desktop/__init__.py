"""The chat's place on a desktop: what it keeps, its look, its notifications, its one window per user."""
