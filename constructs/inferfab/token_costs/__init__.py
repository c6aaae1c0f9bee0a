"""What tokens really cost: from the series that cells record, to tables."""
