"""What is known of the query cache, without a framework, a database or a clock."""
